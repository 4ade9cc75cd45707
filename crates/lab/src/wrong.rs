//! Clients that are wrong on purpose: for every scenario one that fails it.
//!
//! A small MCP client, written by hand over HTTP/1.1, with plain habits of which any can be turned bad. It is
//! a control of the lab and not an example: a scenario that no client here fails proves nothing. It knows
//! nothing of any other client, and no clock but tokio's.

use std::io;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::UnboundedSender;

use crate::adapter::Step;

mod call;
mod client;
mod eras;
mod mistake;
mod next;
mod old;
mod player;
mod reading;
mod sse;
mod standing;
mod suspicion;
#[cfg(test)]
mod tests;
mod trouble;
mod wire;

pub use mistake::{Mistake, PLAIN, find, mistakes};

/// A connection of any kind.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A connection, or the reason why there is none.
pub type Dialed = io::Result<Box<dyn Duplex>>;

type Dialer = Arc<dyn Fn(String) -> BoxFuture<'static, Dialed> + Send + Sync>;

/// Plays a script with these habits. `dial` connects to `host:port`; each line goes to `said`.
///
/// Background tasks end with it, also when it is dropped.
pub async fn play<D>(
    mistake: &Mistake,
    dial: D,
    url: String,
    script: Vec<Step>,
    said: UnboundedSender<String>,
) where
    D: Fn(String) -> BoxFuture<'static, Dialed> + Send + Sync + 'static,
{
    player::play(*mistake, Arc::new(dial), &url, script, &said).await;
}
