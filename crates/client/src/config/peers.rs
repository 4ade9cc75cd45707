//! A client that is one of several of a server.

use super::ClientBuilder;
use crate::driver::Peers;

impl ClientBuilder {
    /// Makes the client one of several of this server: they find out together when its trouble is over.
    pub fn peers(mut self, peers: &Peers) -> Self {
        self.peers = Some(peers.clone());
        self
    }
}
