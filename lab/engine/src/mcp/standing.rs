//! Streams that a client opens by GET: the standing stream, and resumed ones.

use serde_json::Value;

use super::tape::TapePlayer;
use super::{Ask, Mcp, Sse};

impl Mcp {
    /// Sends a message on every standing stream, with an event id, and on every subscription that asked for
    /// it. Returns how many were open and took it; a standing stream that is not open gets it when it is
    /// resumed.
    pub async fn push(&self, message: Value) -> usize {
        let (playing, subscribed) = {
            let mut state = self.state();
            let told = state.subscribers.iter().filter_map(|it| it.tell(&message));
            let told: Vec<_> = told.collect();
            (state.tapes.record_standing(&message.to_string()), told)
        };
        let mut sent = 0;
        for is_sent in subscribed {
            sent += usize::from(is_sent.await.is_ok());
        }
        for (mut played, wanted) in playing {
            if played.wait_for(|&played| played >= wanted).await.is_ok() {
                sent += 1;
            }
        }
        sent
    }

    /// Sends this text of a message on the standing stream of this session, with an event id. A stream that
    /// is not open gets it when it is resumed.
    pub fn push_to(&self, session: Option<&str>, message: &str) {
        let owner = session.map(str::to_owned);
        self.state().tapes.record_for(&owner, message);
    }

    /// Returns how many standing streams and subscriptions are open.
    pub fn standing_streams(&self) -> usize {
        let state = self.state();
        let subscribed = state.subscribers.iter().filter(|it| it.is_there()).count();
        state.tapes.standing() + subscribed
    }
}

/// Opens a standing stream; a session has one at most.
pub(super) async fn listen(ask: Ask) {
    let player = ask.mcp().state().tapes.stand(&ask.entry.session);
    match player {
        Some(player) => play(ask, player).await,
        None => {
            let error = ask.error(-32000, "Conflict: Only one SSE stream is allowed per session");
            ask.status(409, &[("content-type", "application/json")], error).await;
        }
    }
}

/// Resumes a stream after the event that the client saw last. The stream is taken away from the connection
/// that plays it: only the client can know that this connection is dead.
pub(super) async fn resume(ask: Ask) {
    let last_event_id = ask.entry.last_event_id.as_deref().unwrap_or_default();
    let player = ask.mcp().state().tapes.resume(last_event_id);
    match player {
        Some(player) => play(ask, player).await,
        None => ask.status(404, &[], "").await,
    }
}

async fn play(ask: Ask, mut player: TapePlayer) {
    let mcp = ask.mcp().clone();
    let mut sse = ask.sse().await;
    loop {
        player.grown.borrow_and_update();
        let (events, is_ended) = mcp.state().tapes.after(player.tape, player.next);
        for event in events {
            if !sse.event(Some(&event.id), &event.data).await {
                return;
            }
            player.next += 1;
            player.played.send_replace(player.next);
        }
        if is_ended {
            return sse.finish().await;
        }
        if !wait(&mut sse, &mut player).await {
            return;
        }
    }
}

/// Waits for news of the tape. Returns false when the client is gone, or another player has taken over.
async fn wait(sse: &mut Sse, player: &mut TapePlayer) -> bool {
    tokio::select! {
        biased;
        () = sse.gone() => false,
        () = player.played.closed() => false,
        grown = player.grown.changed() => grown.is_ok(),
    }
}
