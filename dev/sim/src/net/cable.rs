//! One connection's cable: it carries bytes both ways, until it is broken.

use std::future::ready;
use std::io;
use std::pin::pin;
use std::time::Duration;

use ridethrough_lab::{Control, Pipe};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::sync::Notify;

use super::meter::{Tally, Way};

/// What a cable does to the bytes that it carries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cable {
    /// How long a burst of bytes takes, either way.
    pub delay: Duration,
    /// The most bytes that arrive at once; zero for as many as there are.
    pub slice: usize,
    /// How it breaks, if it does.
    pub harm: Option<Harm>,
}

/// A break of a cable, which happens once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Harm {
    /// The direction in which bytes are counted.
    pub way: Way,
    /// How many of them arrive before it.
    pub after: u64,
    /// The kind of break.
    pub breaks: Break,
}

/// How a cable breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Both ends find it closed. Bytes that arrived before can be read.
    Fin,
    /// Nothing passes for this long, then everything goes on.
    Pause(Duration),
    /// Both ends find it reset, once they have read what arrived before.
    Reset,
    /// Both ends find it reset, and unread bytes are lost.
    ResetAtOnce,
    /// Nothing ever passes again, and neither end is told.
    Stall,
}

impl Cable {
    /// Whether it carries bytes without delay, slices or break.
    pub fn is_perfect(&self) -> bool {
        *self == Self::default()
    }

    /// Carries bytes between the client's pipe and the server's until both directions have ended, and counts
    /// them.
    pub(super) async fn carry(self, near: Pipe, far: Pipe, tally: Tally) {
        let (near_control, far_control) = (near.control(), far.control());
        let ends = Ends { near: near_control, far: far_control, over: Notify::new(), tally };
        let ((from_client, to_client), (from_server, to_server)) = (split(near), split(far));
        let there = self.one_way(Way::ToServer, from_client, to_server, &ends);
        let back = self.one_way(Way::ToClient, from_server, to_client, &ends);
        tokio::select! {
            biased;
            // Dropping the halves is the FIN; in a black hole neither end sees it.
            () = ends.over.notified() => {}
            _ = async { tokio::join!(there, back) } => {}
        }
    }

    async fn one_way(
        &self,
        way: Way,
        mut from: ReadHalf<Pipe>,
        mut to: WriteHalf<Pipe>,
        ends: &Ends,
    ) {
        let mut harm = self.harm.filter(|harm| harm.way == way);
        let most = if self.slice == 0 { CHUNK } else { self.slice.min(CHUNK) };
        let mut chunk = vec![0; most];
        let mut late = Late { delay: self.delay, is_in_burst: false };
        loop {
            let room = harm.map_or(most, |harm| most.min(to_usize(harm.after)));
            if let Some(Harm { after: 0, breaks, .. }) = harm {
                ends.suffer(breaks).await;
                harm = None;
                continue;
            }
            match late.read(&mut from, &mut chunk[..room]).await {
                Ok(0) => {
                    // The other side may be gone already.
                    let _ = to.shutdown().await;
                    return;
                }
                Ok(length) => {
                    if to.write_all(&chunk[..length]).await.is_err() {
                        return ends.reset();
                    }
                    ends.tally.add(way, length);
                    if let Some(harm) = &mut harm {
                        harm.after -= length as u64;
                    }
                }
                Err(_) => return ends.reset(),
            }
        }
    }
}

/// Reads with a delay: bytes that follow each other closely are delayed once, not each.
struct Late {
    delay: Duration,
    /// Whether something was carried since the last wait.
    is_in_burst: bool,
}

impl Late {
    async fn read(&mut self, from: &mut ReadHalf<Pipe>, into: &mut [u8]) -> io::Result<usize> {
        let mut reading = pin!(from.read(into));
        let read = tokio::select! {
            biased;
            read = &mut reading => read,
            () = ready(()) => {
                self.is_in_burst = false;
                reading.await
            }
        };
        if !self.is_in_burst && !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        self.is_in_burst = true;
        read
    }
}

/// Both ends of a cable, which break together.
struct Ends {
    near: Control,
    far: Control,
    over: Notify,
    tally: Tally,
}

impl Ends {
    fn reset(&self) {
        self.near.reset();
        self.far.reset();
    }

    async fn suffer(&self, breaks: Break) {
        self.tally.broken();
        match breaks {
            Break::Fin => {
                self.over.notify_one();
                std::future::pending().await
            }
            Break::Pause(time) => tokio::time::sleep(time).await,
            Break::Reset => {
                // With paused time this passes only once both ends have nothing left to do.
                tokio::time::sleep(Duration::from_millis(1)).await;
                self.reset();
            }
            Break::ResetAtOnce => self.reset(),
            Break::Stall => {
                self.near.stall();
                self.far.stall();
                // Nothing else would ever wake this cable again.
                self.over.notify_one();
                std::future::pending().await
            }
        }
    }
}

fn to_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

const CHUNK: usize = 4 << 10;

#[cfg(test)]
mod tests;
