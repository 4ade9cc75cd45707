//! `initialize`: the request that begins a session.
//!
//! The head of its answer carries the session id, so it waits for the backend's answer for a while: a backend
//! that dies first has begun no session. If the backend takes longer, because it is downloaded first for
//! example, the client gets a stream as for every other call.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use ridethrough_wire::message::code;
use ridethrough_wire::message::{Answer, Id, Incoming, Message};
use tokio::time::{Instant, timeout_at};

use crate::backend::{Caller, Unavailable};
use crate::fault::{Over, error};
use crate::headers::SESSION;
use crate::parts::ParsedMessage;
use crate::posted::Posted;
use crate::reader::{Piece, Reader};
use crate::reply::{self, Reply, with};
use crate::session::{Session, Unclaimed};
use crate::sessions::Sessions;
use crate::streams::Carries;

/// Whether this message begins a session.
pub(crate) fn is_greeting(message: &Message) -> bool {
    matches!(message, Message::Request { method, .. } if &**method == "initialize")
}

/// Begins a session with this request.
pub(crate) async fn begin(
    sessions: &Arc<Sessions>,
    caller: &Caller,
    posted: Posted,
    carries: Carries,
) -> Reply {
    let [ParsedMessage { message: Message::Request { id, params, .. }, .. }] = &*posted.parts
    else {
        return reply::wrong("`initialize` must come alone");
    };
    let id = &id.clone();
    let session = match sessions.begin(caller).await {
        Ok(session) => session,
        Err(unavailable) => return reply::unavailable(Some(id), &unavailable),
    };
    let unclaimed = Unclaimed::new(session.clone());
    // Until a revision is agreed on, the one that the client asks for is assumed.
    let asked = params.as_ref().and_then(|it| it.member("protocolVersion")?.read::<String>());
    session.lock().version = asked;
    let Ok(reader) = session.ask(posted, carries).await else {
        return gone(&session, id);
    };
    let greeted = Greeted::by(reader, carries).await;
    if let Some(over) = session.lock().over.clone() {
        return not_begun(&over, id);
    }
    match (greeted.answer(), carries) {
        (Some(Answer::Error(_)), _) => greeted.into_reply(carries),
        // The head cannot be sent without the answer, so the client cannot learn the session id.
        (None, Carries::Answers) => {
            let seconds = LONGEST.as_secs();
            let what = format!(
                "`{}` has not answered `initialize` within {seconds} s and is being ended; \
                 who also accepts `text/event-stream` can wait for longer",
                sessions.name()
            );
            reply::json(
                StatusCode::GATEWAY_TIMEOUT,
                error(Some(id), code::SERVER_ERROR, &what, None),
            )
        }
        _ => {
            unclaimed.claim();
            with(greeted.into_reply(carries), SESSION, &session.id)
        }
    }
}

/// The events that have come for `initialize` so far.
struct Greeted {
    pieces: Vec<Piece>,
    reader: Reader,
}

impl Greeted {
    /// Waits for the answer. A client that accepts no event stream can be answered only once.
    async fn by(mut reader: Reader, carries: Carries) -> Self {
        let mut pieces = Vec::new();
        let patience = match carries {
            Carries::Answers => LONGEST,
            Carries::Everything => PATIENCE,
        };
        let deadline = Instant::now() + patience;
        while let Ok(Some(piece)) = timeout_at(deadline, reader.next()).await {
            pieces.push(piece);
        }
        Self { pieces, reader }
    }

    fn answer(&self) -> Option<Answer> {
        self.pieces.iter().rev().find_map(|piece| match piece {
            Piece::Event(entry) => match Incoming::parse(&entry.said.text()) {
                Ok(Incoming::One(Message::Response { answer, .. })) => Some(answer),
                _ => None,
            },
            Piece::Farewell | Piece::Nothing | Piece::Priming => None,
        })
    }

    fn into_reply(self, carries: Carries) -> Reply {
        let answer = self.pieces.iter().find_map(|piece| match piece {
            Piece::Event(entry) => Some(entry.said.text()),
            Piece::Farewell | Piece::Nothing | Piece::Priming => None,
        });
        match (carries, answer) {
            (Carries::Answers, Some(answer)) => reply::json(StatusCode::OK, answer),
            _ => reply::events(self.pieces, self.reader),
        }
    }
}

/// Returns the answer for a conversation that accepts no message, because it is ending.
fn gone(session: &Session, id: &Id) -> Reply {
    let over = session.lock().over.clone();
    not_begun(&over.unwrap_or(Over::Closed("it never began")), id)
}

fn not_begun(over: &Over, id: &Id) -> Reply {
    let retry_after = match over {
        Over::Closed(_) => Duration::ZERO,
        Over::Died(ending) => ending.retry_after,
    };
    reply::unavailable(Some(id), &Unavailable { what: over.story(), retry_after })
}

/// How long the head of the answer waits for the backend.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long the server waits for the answer where the head can only be sent together with it.
const LONGEST: Duration = Duration::from_secs(120);
