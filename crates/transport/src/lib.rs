//! Performs one connection or one request for the client, and repeats nothing.
//!
//! A [`Transport`] makes what the machine asks for and reports what came of it: [`Http`] over connections of a
//! [`Pool`], [`HttpSse`] over that, and a child process behind [`platform::local_server`]. It decides nothing: it never
//! retries, never waits for a server to come back, and claims that nothing was sent only where it can prove it.
//!
//! Applications find what concerns them in the client, `ridethrough`, which stands on this crate.

mod clock;
#[cfg_attr(
    not(feature = "stdio"),
    allow(dead_code, unused_imports, reason = "local servers need it")
)]
mod command;
pub mod credentials;
mod dial;
mod drain;
mod endpoint;
mod http;
mod http_sse;
mod paced;
pub mod platform;
mod pool;
pub mod probe;
mod size;
// The whole module depends on process groups, signals and pipes, and a module can be left out only where it
// is declared. In a build without it, `platform` refuses a local server.
#[cfg(all(unix, feature = "stdio"))]
mod stdio;
#[cfg_attr(
    not(feature = "stdio"),
    allow(dead_code, unused_imports, reason = "local servers need it")
)]
mod switchboard;
mod transport;

pub use bytes::Bytes;
pub use clock::{Clock, SleepClock, SleepWatch};
pub use command::{Command, Stderr};
pub use dial::{
    AddressFilter, ByteStream, ClientCertificate, Connection, Dial, Peek, Proxying, Route, Steps,
    Tcp, roots_in,
};
pub use drain::{Bounds, drain, drain_reply};
pub use endpoint::{Endpoint, EndpointError, shown};
// The types in the traits are passed on, so that an implementation needs no other crate.
pub use ::http::{HeaderValue, StatusCode};
pub use futures_util::future::BoxFuture;
pub use http::{Http, checked_header};
pub use http_sse::HttpSse;
pub use paced::{Paced, ReadRate};
pub use pool::{FEWEST_CONNECTIONS, Pool, PoolSettings};
pub use ridethrough_core::{
    AnswerHead, Carrier, Cause, Failure, Headers, Lane, Outgoing, ProxyFault, Verb,
};
pub use rustls::pki_types::CertificateDer;
pub use size::too_large;
pub use transport::{Body, Recall, RecalledAttempts, Reply, Transport, TransportRequest};
