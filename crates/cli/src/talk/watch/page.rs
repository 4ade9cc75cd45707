//! `ridethrough watch --html`: the output as a page that updates itself.
//!
//! ```text
//! watch ──sights──▶ board ◀──reads── serve ◀── browser
//! ```
//!
//! The page is for the person who started the command: it is served on loopback only, under a path that
//! cannot be guessed, and only for requests with the right `Host` (see `access`). The lines that are kept and
//! the connections are bounded. The page ends with the command.

mod access;
mod board;
mod draw;
mod serve;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Result;
use ridethrough_expose::Token;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use self::access::PageAccess;
pub(super) use self::board::BoardKind;
use self::board::PageBoard;
use super::sight::Sight;
use crate::misuse::Misuse;

/// A page that is being served. Dropping it stops that.
pub(super) struct LivePage {
    board: Arc<PageBoard>,
    url: String,
    serving: JoinHandle<()>,
}

impl LivePage {
    /// Serves a page about this server at this port of loopback, or at any free port for 0.
    pub(super) async fn open(port: u16, server: &str) -> Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            .await
            .map_err(|error| taken(port, &error))?;
        let token = Token::random().map_err(|error| Misuse {
            what: format!("no address for the page can be made that nobody guesses: {error}"),
            tried: "the system was asked for randomness once; no server was spoken to".to_owned(),
            hint: "leave `--html` out: everything is told on stdout too".to_owned(),
        })?;
        let address = listener.local_addr()?;
        let url = format!("http://{address}/{}/", token.reveal());
        let board = Arc::new(PageBoard::new(server));
        let access = PageAccess::new(address.port(), token);
        let serving = tokio::spawn(serve::serve(listener, access, board.clone()));
        Ok(Self { board, url, serving })
    }

    /// Returns the URL, which is a secret: any program that knows it may read the page.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Shows this name of the server.
    pub(super) fn name(&self, name: &str) {
        self.board.name(name);
    }

    /// Shows a line of `watch`.
    pub(super) fn show(&self, sight: &Sight) {
        self.board.add(sight.kind(), &sight.moment(), &sight.words());
    }
}

impl Drop for LivePage {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn taken(port: u16, error: &std::io::Error) -> Misuse {
    Misuse {
        what: format!("port {port} of 127.0.0.1 cannot be had for the page: {error}"),
        tried: "it was asked of the system once; no server was spoken to".to_owned(),
        hint: "choose another with `--html-port`, or leave it out for any that is free".to_owned(),
    }
}

#[cfg(test)]
mod tests;
