//! Clients of one server that find out together when its trouble is over.
//!
//! A program that holds many clients of one server asks once for all of them whether it answers again. What
//! one link learns about trouble is told to the others; nothing is said, and no lock is taken, while all is
//! well.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ridethrough_core::PeerNews;
use tokio::sync::mpsc;

use super::command::{CommandSender, DriverCommand};

type WeakSender = mpsc::WeakUnboundedSender<Box<DriverCommand>>;

/// The clients of one server. A clone is the same group.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use ridethrough::{Client, Peers};
///
/// let peers = Peers::default();
/// let one = Client::builder("https://example.com/mcp").peers(&peers).build()?;
/// let other = Client::builder("https://example.com/mcp").peers(&peers).build()?;
/// # drop((one, other));
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct Peers {
    group: Arc<Mutex<Members>>,
}

#[derive(Default)]
struct Members {
    all: Vec<(u64, WeakSender)>,
    last: u64,
}

/// A client's place in a group, which it leaves when it is dropped.
pub(crate) struct Membership {
    peers: Peers,
    number: u64,
}

impl Peers {
    pub(crate) fn join(&self, sender: &CommandSender) -> Membership {
        let mut group = self.lock();
        group.last += 1;
        let number = group.last;
        group.all.push((number, sender.downgrade()));
        Membership { peers: self.clone(), number }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Members> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peers").field("members", &self.lock().all.len()).finish()
    }
}

impl Membership {
    /// Tells the other clients of the group.
    pub(super) fn tell(&self, news: PeerNews) {
        for (number, member) in &self.peers.lock().all {
            if *number != self.number
                && let Some(sender) = member.upgrade()
            {
                // A client that is closing needs no news.
                let _ = sender.send(Box::new(DriverCommand::Peer(news)));
            }
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.peers.lock().all.retain(|(number, _)| *number != self.number);
    }
}
