//! Clients that are wrong on purpose: for every scenario one that fails it.
//!
//! A small MCP client, written by hand over HTTP/1.1, with correct habits of which any can be turned bad. It
//! is a control of the lab and not an example: a scenario that no client here fails proves nothing. It knows
//! nothing of any other client, and no clock but tokio's.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc::UnboundedSender;

use crate::adapter::Step;

mod call;
mod client;
mod eras;
mod login;
mod mistake;
mod next;
mod old;
mod player;
mod reading;
mod sse;
mod standing;
mod suspicion;
mod target;
#[cfg(test)]
mod tests;
mod trouble;

use crate::http1_client::Dialer;
pub use crate::http1_client::{Dialed, Duplex};
pub use mistake::{Mistake, PLAIN, find, mistakes};

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
