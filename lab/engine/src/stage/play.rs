//! Carries out the actions of a rule, one after another.
//!
//! ```text
//! Asked --open--> Stream --finish, cut, reset, hold--> Over
//!   |'--raw, bytes, partial--> Bare --finish, cut, reset, hold--> Over
//!   '--pass, status, cut, reset, hold--> Over
//! ```
//!
//! An action that does not fit the present state is skipped: a client that closed early must not turn the
//! rest of a rule into an error. What a server does to itself fits every state.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Place;
use super::fill::Blanks;
use super::gzip::gzip;
use crate::lock::lock;
use crate::mcp::Notes;
use crate::mcp::ask::{error_message, result_message};
use crate::mcp::sse::{Pieces, describe, encode};
use crate::scenario::{Action, Coding, Partial, PartialOf, Status, StreamAnswer};
use crate::{Ask, Deed, Mood, Raw, Sse};

pub(super) async fn play(ask: Ask, acts: Arc<[Action]>, place: Place) {
    let mut player = StagePlayer::new(ask, place);
    for act in acts.iter() {
        player.act(act).await;
    }
}

struct StagePlayer {
    stand: Stand,
    place: Place,
    notes: Notes,
    blanks: Blanks,
    manner: Pieces,
}

/// The state of the answer.
enum Stand {
    Asked(Box<Ask>),
    Bare(Raw),
    Over,
    Stream(Sse),
}

impl StagePlayer {
    fn new(ask: Ask, place: Place) -> Self {
        let last_event_id = ask.entry.last_event_id.as_deref();
        // A resume has no request id of its own: it asks for the answer to the earlier request.
        let resumed = last_event_id.and_then(|it| lock(&place.threads).get(it).cloned());
        let blanks = resumed.unwrap_or_else(|| Blanks {
            id: ask.id().to_string(),
            answer: ask.right_answer().to_string(),
            url: place.url.clone(),
            addresses: place.addresses.get().cloned().unwrap_or_default(),
            issued: Vec::new(),
        });
        let notes = ask.notes();
        let stand = Stand::Asked(Box::new(ask));
        Self { stand, place, notes, blanks, manner: Pieces::WHOLE }
    }

    async fn act(&mut self, act: &Action) {
        match act {
            Action::Answer(answer) => self.answer(answer).await,
            Action::Bytes(digits) => self.send("bytes", unhex(digits)).await,
            Action::Comment(text) => self.send_on_stream("comment", format!(": {text}\n\n")).await,
            Action::Cut => self.cut().await,
            Action::Event(event) => self.event(event.id.as_deref(), &event.data).await,
            Action::Finish => self.finish().await,
            Action::Flood(bytes) => self.flood(*bytes).await,
            Action::Guard => self.guard().await,
            Action::Hold => self.hold().await,
            Action::Manner(manner) => {
                self.manner = Pieces { slice: manner.slice, gap: seconds(manner.gap) };
            }
            Action::Message(message) => {
                self.event(message.id.as_deref(), &message.json.to_string()).await;
            }
            Action::Open => self.open().await,
            Action::Padded(length) => self.padded(*length).await,
            Action::Partial(partial) => self.partial(*partial).await,
            Action::Pass => self.pass().await,
            Action::Raw(text) => self.send("bytes", self.blanks.fill(text).into()).await,
            Action::Reset => self.reset(),
            Action::Retry(wait) => self.send_on_stream("retry", format!("retry: {wait}\n\n")).await,
            Action::Run => self.run(),
            Action::Status(status) => self.status(status).await,
            Action::Wait(wait) => sleep(seconds(*wait)).await,
            to_itself => self.act_on_server(to_itself).await,
        }
    }

    /// Carries out an action of the server on itself, in any state of the request.
    async fn act_on_server(&mut self, act: &Action) {
        let Place { server, mcp, .. } = &self.place;
        match act {
            Action::CloseIdle => server.close_idle(),
            Action::Down(lasts) => {
                let lasts = seconds(*lasts);
                self.place.later(Duration::ZERO, move |place| down(place, lasts));
                // The kill ends this very task.
                pending::<()>().await;
            }
            Action::EndAccessTokens => {
                self.place.vault.end_access_tokens();
                self.place.tell("access tokens ended");
            }
            Action::EndLogins => {
                self.place.vault.end_logins();
                self.place.tell("logins ended");
            }
            Action::EndSubscriptions => {
                // The scenario's checks count the subscribers.
                mcp.end_subscriptions();
            }
            Action::Era(era) => self.place.speak(*era),
            Action::ForgetClients => {
                self.place.vault.forget_clients();
                self.place.tell("clients forgotten");
            }
            Action::ForgetSessions => {
                mcp.forget_sessions();
                self.place.tell("sessions forgotten");
            }
            Action::LostSession(lost) => mcp.lost_session(lost.status, lost.body.clone()),
            Action::Outage(outage) => {
                self.place.be(outage.mood);
                let lasts = seconds(outage.lasts);
                self.place.later(lasts, |place| async move { place.be(Mood::Up) });
            }
            Action::Push(message) => {
                // The scenario's checks count the receivers.
                mcp.push(message.clone()).await;
            }
            Action::ResetConnections => server.reset_connections(),
            Action::SayOnIdle(text) => server.say_on_idle(text.clone()),
            Action::Tools(tools) => mcp.tools(Value::from(tools.clone())),
            _ => {}
        }
    }

    fn take(&mut self) -> Stand {
        std::mem::replace(&mut self.stand, Stand::Over)
    }

    fn run(&mut self) {
        let Stand::Asked(ask) = &self.stand else { return };
        match ask.carry_out_login() {
            Some(reply) => {
                self.blanks.answer = reply.body;
                self.blanks.issued = reply.values;
            }
            None => ask.run(),
        }
    }

    async fn open(&mut self) {
        self.stand = match self.take() {
            Stand::Asked(ask) => Stand::Stream(ask.sse().await),
            stand => stand,
        };
    }

    async fn guard(&mut self) {
        if matches!(&self.stand, Stand::Asked(ask) if ask.is_refused()) {
            self.pass().await;
        }
    }

    async fn pass(&mut self) {
        match self.take() {
            Stand::Asked(ask) => ask.pass().await,
            stand => self.stand = stand,
        }
    }

    async fn status(&mut self, status: &Status) {
        let Stand::Asked(ask) = self.take() else { return };
        let body = self.blanks.fill(&status.body);
        let filled = |(name, value): (&String, &String)| (name.clone(), self.blanks.fill(value));
        let mut headers: Vec<_> = status.headers.iter().map(filled).collect();
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            let is_json = serde_json::from_str::<Value>(&body).is_ok();
            let kind = if is_json { "application/json" } else { "text/plain" };
            headers.push(("content-type".to_owned(), kind.to_owned()));
        }
        if status.coding.is_some() {
            headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
        }
        let body = match status.coding {
            Some(Coding::Gzip) => gzip(body.as_bytes()),
            None => body.into(),
        };
        let headers: Vec<_> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        ask.status(status.code, &headers, body).await;
    }

    async fn padded(&mut self, length: usize) {
        let Stand::Asked(ask) = self.take() else { return };
        ask.run();
        let mut answer = ask.right_answer();
        let missing =
            length.saturating_sub(answer.to_string().len() + r#","_meta":{"pad":""}"#.len());
        answer["result"]["_meta"]["pad"] = "x".repeat(missing).into();
        ask.json(answer.to_string()).await;
    }

    async fn answer(&mut self, answer: &StreamAnswer) {
        let to = answer.to.clone().unwrap_or_else(|| self.blanks.id());
        let data = match (&answer.error, &answer.text) {
            (Some(error), _) => error_message(to, error.clone()).to_string(),
            (None, Some(text)) => {
                let content = json!([{"type": "text", "text": text}]);
                result_message(to, json!({"content": content})).to_string()
            }
            (None, None) => self.blanks.answer.clone(),
        };
        self.event(answer.id.as_deref(), &data).await;
    }

    async fn event(&mut self, id: Option<&str>, data: &str) {
        let id = id.map(|id| self.blanks.fill(id));
        if let Stand::Stream(sse) = &mut self.stand {
            if let Some(id) = &id {
                lock(&self.place.threads).insert(id.clone(), self.blanks.clone());
            }
            let id = id.as_deref();
            sse.pieces(&describe(id, data), &encode(id, data), self.manner).await;
        }
    }

    async fn send_on_stream(&mut self, what: &str, text: String) {
        if let Stand::Stream(sse) = &mut self.stand {
            sse.pieces(what, &text.into(), self.manner).await;
        }
    }

    /// Sends bytes unchanged, in any state.
    async fn send(&mut self, what: &str, bytes: Bytes) {
        self.bare();
        match &mut self.stand {
            Stand::Stream(sse) => {
                sse.pieces(what, &bytes, self.manner).await;
            }
            Stand::Bare(raw) => {
                self.notes.note(Deed::Sent(what.to_owned()));
                for piece in bytes.chunks(self.manner.slice) {
                    raw.write(Bytes::copy_from_slice(piece)).await;
                    sleep(self.manner.gap).await;
                }
            }
            Stand::Asked(_) | Stand::Over => {}
        }
    }

    /// Takes the bare connection of a request that is not answered yet.
    fn bare(&mut self) {
        self.stand = match self.take() {
            Stand::Asked(ask) => match ask.reply().1.raw() {
                Ok(raw) => Stand::Bare(raw),
                // HTTP/2, which no scenario uses: the request stays unanswered.
                Err(_) => Stand::Over,
            },
            stand => stand,
        };
    }

    async fn partial(&mut self, partial: Partial) {
        let Blanks { answer, .. } = &self.blanks;
        let length = answer.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        let start = if partial.of == PartialOf::Body { head.len() } else { 0 };
        let mut whole = Bytes::from(format!("{head}{answer}"));
        whole.truncate(start.saturating_add(partial.bytes));
        self.send("part of the answer", whole).await;
    }

    async fn flood(&mut self, bytes: u64) {
        match &mut self.stand {
            Stand::Bare(raw) => {
                self.notes.note(Deed::Sent("a flood".to_owned()));
                raw.write(vec![b'x'; usize::try_from(bytes).unwrap_or(usize::MAX)]).await;
            }
            Stand::Stream(sse) => sse.flood(bytes).await,
            Stand::Asked(_) | Stand::Over => {}
        }
    }

    async fn finish(&mut self) {
        match self.take() {
            Stand::Stream(sse) => sse.finish().await,
            Stand::Bare(raw) => raw.keep().await,
            stand => self.stand = stand,
        }
    }

    async fn cut(&mut self) {
        match self.take() {
            Stand::Asked(ask) => {
                self.notes.note(Deed::Cut);
                ask.reply().1.close().await;
            }
            Stand::Bare(raw) => {
                self.notes.note(Deed::Cut);
                raw.close().await;
            }
            Stand::Stream(sse) => sse.cut().await,
            Stand::Over => {}
        }
    }

    fn reset(&mut self) {
        match self.take() {
            Stand::Asked(ask) => {
                self.notes.note(Deed::Reset);
                ask.reply().1.reset();
            }
            Stand::Bare(raw) => {
                self.notes.note(Deed::Reset);
                raw.reset();
            }
            Stand::Stream(sse) => sse.reset(),
            Stand::Over => {}
        }
    }

    async fn hold(&mut self) {
        match self.take() {
            Stand::Asked(ask) => {
                ask.reply().1.hold().await;
                self.notes.gone();
            }
            Stand::Bare(mut raw) => {
                raw.gone().await;
                self.notes.gone();
            }
            Stand::Stream(mut sse) => sse.gone().await,
            Stand::Over => {}
        }
    }
}

/// Dies and restarts, outside of the server's own tasks, which would die with it.
async fn down(place: Place, lasts: Duration) {
    place.tell("down");
    place.server.kill().await;
    place.mcp.forget_sessions();
    sleep(lasts).await;
    // It fails if another process took the port meanwhile: then the server stays down, as the log says.
    if place.server.restart().await.is_ok() {
        place.tell("up");
    }
}

fn seconds(number: f64) -> Duration {
    Duration::from_secs_f64(number)
}

/// Bytes from hexadecimal digits, which were checked when the scenario was read.
fn unhex(digits: &str) -> Bytes {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).unwrap_or_default();
        u8::from_str_radix(text, 16).unwrap_or_default()
    };
    digits.chunks(2).map(byte).collect()
}
