//! What a script consists of: how the server behaves, how the client is set up, and what the application
//! asks for.

use std::time::Duration;

use ridethrough::transport::BoxFuture;
use ridethrough::{ClientBuilder, Era};
use ridethrough_lab::Mcp;

use super::stage::Stage;

/// One script.
#[derive(Clone, Copy)]
pub struct Exchange {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What kind of server it is.
    pub(super) kind: ServerKind,
    /// How the server behaves.
    pub(super) serve: fn(&Mcp),
    /// How the client is set up.
    pub(super) dress: fn(ClientBuilder) -> ClientBuilder,
    /// What the application does.
    pub(super) play: Play,
    /// The time of a call.
    pub(super) deadline: Duration,
    /// What the contract leaves open in this script.
    pub(super) leeway: &'static [Leeway],
}

/// What an application does.
pub(super) type Play = for<'a> fn(&'a Stage) -> BoxFuture<'a, ()>;

/// What kind of server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerKind {
    /// HTTP+SSE, 2024-11-05.
    HttpSse,
    /// Streamable HTTP.
    Streamable,
}

/// What a call of a script may end with besides its answer or, if it is unsafe, a doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leeway {
    /// The kind of the error, or the code of the server's.
    pub(super) ending: Lenient,
    /// After which breaks.
    pub(super) after: After,
    /// Which sentence of the contract allows it.
    pub(super) why: &'static str,
}

/// What is let pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lenient {
    /// A JSON-RPC error of this code.
    Code(i64),
    /// An error of this kind.
    Kind(ridethrough::error::Kind),
}

/// After which breaks something is let pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// After each of them.
    Any,
    /// After a connection went silent.
    Stall,
}

impl Exchange {
    /// A server of sessions that answers in JSON, and a client that knows it.
    pub(super) const PLAIN: Self = Self {
        name: "",
        kind: ServerKind::Streamable,
        serve: |_| {},
        dress: |builder| builder.eras(Era::Legacy),
        play: |_| Box::pin(async {}),
        deadline: CALL,
        leeway: &[],
    };
}

/// The time of a call.
const CALL: Duration = Duration::from_secs(60);
/// The time of a call whose stream can be resumed: a live server's silence is waited out for 2 minutes before
/// it is (row 19). Over HTTP+SSE all calls share one stream, which is found dead as late as that.
pub(super) const RESUMABLE: Duration = Duration::from_secs(240);
