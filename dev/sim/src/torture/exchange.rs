//! What a script consists of: how the server behaves, how the client is configured, and what the application
//! does.

use std::time::Duration;

use ridethrough::transport::BoxFuture;
use ridethrough::{ClientBuilder, Era};
use ridethrough_lab::{Mcp, Processed, Spoken};
use serde_json::Value;

use super::stage::Stage;

/// One script.
#[derive(Clone, Copy)]
pub struct Exchange {
    /// Its name on the command line.
    pub name: &'static str,
    /// The carrier that the server speaks.
    pub(super) kind: ServerKind,
    /// How the server behaves.
    pub(super) serve: fn(&Mcp),
    /// How the client is configured.
    pub(super) dress: fn(ClientBuilder) -> ClientBuilder,
    /// What the application does.
    pub(super) play: Play,
    /// The deadline of a call.
    pub(super) deadline: Duration,
    /// What the contract leaves open in this script.
    pub(super) leeway: &'static [Leeway],
}

/// What an application does.
#[derive(Clone, Copy)]
pub(super) enum Play {
    /// One thing after the other.
    Steps(&'static [Step]),
    /// Something that no steps say.
    Told(for<'a> fn(&'a Stage) -> BoxFuture<'a, ()>),
}

/// One thing that an application does, or that happens to its server.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Close,
    CloseIdle,
    Deploy(&'static str),
    DropAfterASecond(&'static str),
    ForgetSessions,
    GoAway,
    KeepConnected,
    Read(&'static str),
    /// Makes a request that only reads, with these params.
    Request(&'static str, &'static str),
    /// Lets so many seconds pass.
    Sleep(u64),
    Speaks(Spoken),
    /// Sends the server a notification.
    Tell(&'static str),
}

impl Play {
    pub(super) async fn on(self, stage: &Stage) {
        match self {
            Self::Steps(steps) => {
                for step in steps {
                    step.take(stage).await;
                }
            }
            Self::Told(play) => play(stage).await,
        }
    }
}

impl Step {
    async fn take(self, stage: &Stage) {
        match self {
            Self::Close => stage.close().await,
            Self::CloseIdle => stage.server.close_idle(),
            Self::Deploy(key) => stage.deploy(key).await,
            Self::DropAfterASecond(key) => stage.drop_after(key, Duration::from_secs(1)).await,
            Self::ForgetSessions => stage.mcp.forget_sessions(),
            Self::GoAway => stage.server.go_away(Processed::All),
            Self::KeepConnected => stage.client.keep_connected(),
            Self::Read(key) => stage.read(key).await,
            Self::Request(method, params) => {
                let params = serde_json::from_str(params).expect("scripts write JSON");
                stage.ask(method, params).await;
            }
            Self::Sleep(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
            Self::Speaks(spoken) => stage.mcp.speaks(spoken),
            Self::Tell(method) => stage.tell(method, Value::Null).await,
        }
    }
}

/// The carrier that a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerKind {
    /// HTTP+SSE, 2024-11-05.
    HttpSse,
    /// Streamable HTTP.
    Streamable,
}

/// An end of a call that a script allows besides its answer or, if it is unsafe, a doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leeway {
    /// The error that is allowed.
    pub(super) ending: Lenient,
    /// The breaks after which it is allowed.
    pub(super) after: After,
    /// The sentence of the contract that allows it.
    pub(super) why: &'static str,
}

/// An error that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lenient {
    /// A JSON-RPC error of this code.
    Code(i64),
    /// An error of this kind.
    Kind(ridethrough::error::Kind),
}

/// The breaks after which an error is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// After every break.
    Any,
    /// After a connection went silent.
    Stall,
}

impl Exchange {
    /// A server with sessions that answers in JSON, and a client that knows its era.
    pub(super) const PLAIN: Self = Self {
        name: "",
        kind: ServerKind::Streamable,
        serve: |_| {},
        dress: |builder| builder.eras(Era::Legacy),
        play: Play::Steps(&[]),
        deadline: CALL,
        leeway: &[],
    };
}

/// A script that is nothing but steps, on a plain server.
pub(super) const fn plain(name: &'static str, steps: &'static [Step]) -> Exchange {
    Exchange { name, play: Play::Steps(steps), ..Exchange::PLAIN }
}

/// A script of an unsafe call and a safe one, on a server that behaves like this.
pub(super) const fn served(name: &'static str, serve: fn(&Mcp)) -> Exchange {
    Exchange { name, serve, play: BOTH, ..Exchange::PLAIN }
}

/// An unsafe call and a safe one.
pub(super) const BOTH: Play = Play::Steps(&[Step::Deploy("a"), Step::Read("b")]);
/// The deadline of a call.
const CALL: Duration = Duration::from_secs(60);
/// The deadline of a call whose stream can be resumed: the silence of a live server is waited out for 2
/// minutes before a resume (row 19). Over HTTP+SSE all calls share one stream, which is found dead as late as
/// that.
pub(super) const RESUMABLE: Duration = Duration::from_secs(240);
