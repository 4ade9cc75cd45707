//! What a script consists of: how the server behaves, how the client is configured, and what the application
//! does.

use std::time::Duration;

use ridethrough::transport::BoxFuture;
use ridethrough::{ClientBuilder, Era};
use ridethrough_lab::Mcp;

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
pub(super) type Play = for<'a> fn(&'a Stage) -> BoxFuture<'a, ()>;

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
        play: |_| Box::pin(async {}),
        deadline: CALL,
        leeway: &[],
    };
}

/// The deadline of a call.
const CALL: Duration = Duration::from_secs(60);
/// The deadline of a call whose stream can be resumed: the silence of a live server is waited out for 2
/// minutes before a resume (row 19). Over HTTP+SSE all calls share one stream, which is found dead as late as
/// that.
pub(super) const RESUMABLE: Duration = Duration::from_secs(240);
