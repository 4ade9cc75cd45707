//! Routing the messages of a server that sends all of them on one pipe or stream: an answer goes to the call
//! that waits for it, everything else to the standing stream.
//!
//! ```text
//!                       ┌─ its number is awaited ────▶ that call's stream, which ends with it
//!   line ──▶ message? ──┼─ progress of such a call ──▶ that call's stream
//!                       └─ anything else, or invalid ▶ the standing stream, or the waiting room
//! ```
//! A line is one line of a local server, or the data of one event. Progress goes to its call's stream, though
//! any stream would do, to stay in order with the answer. The waiting room is for lines that come before the
//! standing stream is opened: notifications are dropped from it, oldest first, questions never. Lines that
//! were routed and not read are limited by `unread`: beyond it the server is not read, so that the server
//! waits.

mod body;

pub(crate) use body::{FRAME, LineBody, LineSource};

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ridethrough_core::Failure;
use ridethrough_wire::message::notification;
use ridethrough_wire::message::{Incoming, Message};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// A line on its way to its reader, and the permit that it holds until then. An empty line is a sign of life.
pub(crate) struct Parcel {
    line: Bytes,
    _place: Option<OwnedSemaphorePermit>,
}

/// What a stream receives: lines, and at last perhaps why no more can come.
pub(crate) type Deliveries = mpsc::UnboundedReceiver<Result<Parcel, Failure>>;
type Recipient = mpsc::UnboundedSender<Result<Parcel, Failure>>;

/// Routes the lines of one server.
pub(crate) struct Switchboard {
    state: Mutex<SwitchboardState>,
    unread: Arc<Semaphore>,
    most_unread: usize,
}

enum SwitchboardState {
    Open(Routes),
    Over(Failure),
}

#[derive(Default)]
struct Routes {
    calls: BTreeMap<u64, Recipient>,
    standing: Option<Recipient>,
    room: WaitingRoom,
}

/// The server sent more questions than are kept before the standing stream was opened.
#[derive(Debug)]
pub(crate) struct Floods;

impl Switchboard {
    /// Creates a switchboard that holds at most about `most_unread` bytes, and as many in its waiting room.
    pub(crate) fn new(most_unread: usize) -> Arc<Self> {
        let most_unread = most_unread.min(u32::MAX as usize);
        let unread = Arc::new(Semaphore::new(most_unread));
        Arc::new(Self {
            state: Mutex::new(SwitchboardState::Open(Routes::default())),
            unread,
            most_unread,
        })
    }

    /// Returns the stream that a call's answer will come on.
    pub(crate) fn await_answer(self: &Arc<Self>, id: u64) -> Result<Awaited, Failure> {
        let (recipient, deliveries) = mpsc::unbounded_channel();
        match &mut *self.lock() {
            SwitchboardState::Open(routes) => routes.calls.insert(id, recipient),
            SwitchboardState::Over(failure) => return Err(failure.clone()),
        };
        Ok(Awaited { deliveries, id, board: self.clone() })
    }

    /// Drops all calls: their streams end without an answer.
    pub(crate) fn forget_calls(&self) {
        if let SwitchboardState::Open(routes) = &mut *self.lock() {
            routes.calls.clear();
        }
    }

    /// Opens the standing stream; an earlier one ends.
    pub(crate) fn listen(&self) -> Result<Deliveries, Failure> {
        let (recipient, deliveries) = mpsc::unbounded_channel();
        match &mut *self.lock() {
            SwitchboardState::Open(routes) => {
                for line in routes.room.leave() {
                    // The other end is held right here.
                    let _ = recipient.send(Ok(Parcel { line, _place: None }));
                }
                routes.standing = Some(recipient);
                Ok(deliveries)
            }
            SwitchboardState::Over(failure) => Err(failure.clone()),
        }
    }

    /// Routes a line, as soon as there is room for it.
    pub(crate) async fn route(&self, line: Bytes) -> Result<(), Floods> {
        let place = self.place_for(&line).await;
        let mut state = self.lock();
        let SwitchboardState::Open(routes) = &mut *state else { return Ok(()) };
        routes.route(line, place, self.most_unread)
    }

    async fn place_for(&self, line: &Bytes) -> Option<OwnedSemaphorePermit> {
        let size = (line.len() + PARCEL).min(self.most_unread);
        let size = u32::try_from(size).expect("the bound was clamped to u32");
        self.unread.clone().acquire_many_owned(size).await.ok()
    }

    /// Gives a call its answer, which came by another way, if it still waits for one.
    pub(crate) async fn answer(&self, id: u64, line: Bytes) {
        let place = self.place_for(&line).await;
        let call = match &mut *self.lock() {
            SwitchboardState::Open(routes) => routes.calls.remove(&id),
            SwitchboardState::Over(_) => None,
        };
        if let Some(call) = call {
            // A call that ended meanwhile has no use for it.
            let _ = call.send(Ok(Parcel { line, _place: place }));
        }
    }

    /// Gives a sign of life to all streams that wait for the server.
    pub(crate) fn beat(&self) {
        let SwitchboardState::Open(routes) = &*self.lock() else { return };
        for recipient in routes.calls.values().chain(&routes.standing) {
            // A reader that is gone need not know.
            let _ = recipient.send(Ok(Parcel { line: Bytes::new(), _place: None }));
        }
    }

    /// Ends a call whose answer cannot be accepted. Returns whether the call was waiting.
    pub(crate) fn fail(&self, id: u64, failure: &Failure) -> bool {
        let call = match &mut *self.lock() {
            SwitchboardState::Open(routes) => routes.calls.remove(&id),
            SwitchboardState::Over(_) => None,
        };
        // A reader that is gone need not know.
        call.map(|call| call.send(Err(failure.clone()))).is_some()
    }

    /// Ends all streams, and later ones too, with the reason why the server is gone.
    pub(crate) fn close(&self, failure: &Failure) {
        let mut state = self.lock();
        let SwitchboardState::Open(routes) = &mut *state else { return };
        let recipients =
            std::mem::take(&mut routes.calls).into_values().chain(routes.standing.take());
        for recipient in recipients {
            // A reader that is gone need not know.
            let _ = recipient.send(Err(failure.clone()));
        }
        *state = SwitchboardState::Over(failure.clone());
    }

    /// Returns why the server is gone, if it is.
    pub(crate) fn failure(&self) -> Option<Failure> {
        match &*self.lock() {
            SwitchboardState::Open(_) => None,
            SwitchboardState::Over(failure) => Some(failure.clone()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, SwitchboardState> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that waits for its answer. Dropping it ends the wait.
pub(crate) struct Awaited {
    deliveries: Deliveries,
    id: u64,
    board: Arc<Switchboard>,
}

impl Awaited {
    /// Returns the first line for this call; `None` if the call was dropped.
    pub(crate) async fn first(&mut self) -> Option<Result<Parcel, Failure>> {
        loop {
            match self.deliveries.recv().await {
                Some(Ok(parcel)) if parcel.line.is_empty() => {}
                first => return first,
            }
        }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if let SwitchboardState::Open(routes) = &mut *self.board.lock() {
            routes.calls.remove(&self.id);
        }
    }
}

impl Routes {
    fn route(
        &mut self,
        line: Bytes,
        place: Option<OwnedSemaphorePermit>,
        most: usize,
    ) -> Result<(), Floods> {
        let messages = Incoming::parse(&line).map(Incoming::into_messages).unwrap_or_default();
        let parcel = Parcel { line, _place: place };
        if let Some(answered) = messages.iter().find_map(|it| self.awaited_by(it)) {
            let call = match answered {
                For::Answer(id) => self.calls.remove(&id),
                For::Progress(id) => self.calls.get(&id).cloned(),
            };
            if let Some(call) = call {
                // A call that ended meanwhile has no use for it.
                let _ = call.send(Ok(parcel));
            }
            return Ok(());
        }
        let parcel = match &self.standing {
            None => parcel,
            Some(standing) => match standing.send(Ok(parcel)) {
                Ok(()) => return Ok(()),
                Err(mpsc::error::SendError(refused)) => {
                    self.standing = None;
                    let Ok(parcel) = refused else { return Ok(()) };
                    parcel
                }
            },
        };
        let is_question = messages.iter().any(|it| matches!(it, Message::Request { .. }));
        self.room.enter(parcel.line, is_question, most)
    }

    fn awaited_by(&self, message: &Message) -> Option<For> {
        let found = match message {
            Message::Notification { method, params } if &**method == notification::PROGRESS => {
                For::Progress(progress_token(params.as_ref()?.as_bytes())?)
            }
            Message::Response { id, .. } => For::Answer(id.as_ref()?.number()?),
            _ => return None,
        };
        let (For::Answer(id) | For::Progress(id)) = &found;
        self.calls.contains_key(id).then_some(found)
    }
}

/// Why a line belongs to a call.
enum For {
    Answer(u64),
    Progress(u64),
}

/// Returns the progress token in the params. The machine uses a request's own number as its token.
fn progress_token(params: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        progress_token: u64,
    }

    serde_json::from_slice(params).ok().map(|Params { progress_token }| progress_token)
}

/// The lines that came before the standing stream was opened.
#[derive(Default)]
struct WaitingRoom {
    lines: VecDeque<Waiting>,
    bytes: usize,
}

struct Waiting {
    line: Bytes,
    is_question: bool,
}

impl WaitingRoom {
    fn enter(&mut self, line: Bytes, is_question: bool, most_bytes: usize) -> Result<(), Floods> {
        self.bytes += line.len();
        self.lines.push_back(Waiting { line, is_question });
        while self.lines.len() > MOST_WAITING || self.bytes > most_bytes {
            let oldest = self.lines.iter().position(|waiting| !waiting.is_question);
            let dropped = oldest.and_then(|at| self.lines.remove(at)).ok_or(Floods)?;
            self.bytes -= dropped.line.len();
        }
        Ok(())
    }

    fn leave(&mut self) -> impl Iterator<Item = Bytes> {
        self.bytes = 0;
        std::mem::take(&mut self.lines).into_iter().map(|waiting| waiting.line)
    }
}

/// How many lines may wait for the standing stream, which is opened right after a handshake.
const MOST_WAITING: usize = 256;
/// What a line takes in memory beside its bytes, so that short ones are bounded, too.
const PARCEL: usize = 128;

#[cfg(test)]
mod tests;
