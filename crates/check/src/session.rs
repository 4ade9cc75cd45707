//! Sessions: whether there is one, how the server answers an unknown one, and whether one can be ended.

use ridethrough::machine::Loss;
use ridethrough::machine::session::SessionId;
use serde_json::Value;

use crate::finding::{Finding, Subject};
use crate::hello::Hello;
use crate::notes::Notes;
use crate::question::{Ask, Visit};
use crate::seen::AnswerSeen;
use crate::wire::Wire;

/// Returns a finding about the form of the session id.
pub(crate) fn judge_id(hello: &Hello) -> Finding {
    match (&hello.issued, &hello.visit.session) {
        (None, _) => Subject::Session
            .good("id", "issues no session id: there is no session that could get lost"),
        (Some(issued), Some(_)) => Subject::Session
            .good("id", format!("issues a session id of {} characters", issued.len())),
        (Some(_), None) => Subject::Session
            .bad(
                "id",
                "issues a session id that is not visible ASCII: our client leaves it \
                 away, and the server will not know us",
            )
            .advise("let the server issue ids of visible ASCII, a UUID for example"),
    }
}

/// Sends a request with a session id that the server cannot know: its answer is the one for an expired
/// session.
pub(crate) async fn ask_unknown(wire: &mut Wire, visit: &Visit, notes: &mut Notes) {
    let Some(session) = &visit.session else { return };
    let unknown =
        Visit { session: SessionId::new(&stranger_to(session.as_str())), ..visit.clone() };
    let ask = wire.request("ping", Value::Null).of(&unknown);
    let id = ask.id;
    notes.add(match wire.ask(ask).await {
        Err(miss) => Subject::Session.unknown("expiry", "an unknown session", miss),
        Ok(seen) => match seen.unfinished() {
            Some(because) => Subject::Session.unknown("expiry", "an unknown session", because),
            None => judge_expiry(&seen, seen.session_loss(id)),
        },
    });
}

fn judge_expiry(seen: &AnswerSeen, loss: Loss) -> Finding {
    let words = seen.words();
    match loss {
        Loss::ByStatus if seen.head.status.as_u16() == 404 => Subject::Session.good(
            "expiry",
            "answers 404 to an unknown session: our client makes a new one, and calls go on",
        ),
        Loss::ByStatus => Subject::Session
            .note(
                "expiry",
                format!(
                    "answers {words} to an unknown session, where 404 is the \
                 rule; our client knows this dialect and makes a new one"
                ),
            )
            .advise(
                "let the server answer 404 to unknown sessions: other clients may not \
                 understand it",
            ),
        Loss::ByWords => Subject::Session
            .note(
                "expiry",
                format!(
                    "answers {words} to an unknown session, where 404 is the \
                 rule; our client asks again before it believes that, then makes a new one"
                ),
            )
            .advise(
                "let the server answer 404 to unknown sessions: other clients may not \
                 understand it",
            ),
        Loss::None if seen.result().is_some() => Subject::Session
            .warning(
                "expiry",
                "answers in a session that it never issued: it does not look \
                 at the id, or makes one up",
            )
            .advise(
                "if the server keeps something for each session, let it answer 404 to unknown ones",
            ),
        Loss::None if seen.is_busy() => {
            Subject::Session.unknown("expiry", "an unknown session", seen.turned_away())
        }
        Loss::None => Subject::Session
            .bad(
                "expiry",
                format!(
                    "answers {words} to an unknown session: our client cannot \
                 tell that from a refused call, and every call fails once a session has expired"
                ),
            )
            .advise("let the server answer 404 to unknown sessions"),
    }
}

/// Ends the session, and checks that it is gone. Returns whether the server was told.
pub(crate) async fn end(wire: &mut Wire, visit: &Visit, notes: &mut Notes) -> bool {
    if visit.session.is_none() {
        return true;
    }
    match wire.ask(Ask::delete().of(visit)).await {
        Err(miss) => {
            notes.add(Subject::Session.unknown("delete", "DELETE", miss));
            false
        }
        Ok(seen) => {
            let finding = judge_end(&seen, wire, visit).await;
            notes.add(finding);
            true
        }
    }
}

async fn judge_end(seen: &AnswerSeen, wire: &mut Wire, visit: &Visit) -> Finding {
    let status = seen.head.status;
    if status.as_u16() == 405 {
        return Subject::Session.note(
            "delete",
            "does not let clients end a session (405 to DELETE): sessions stay until they expire",
        );
    }
    if seen.is_busy() {
        return Subject::Session.unknown("delete", "DELETE", seen.turned_away());
    }
    if !status.is_success() {
        return Subject::Session
            .warning(
                "delete",
                format!("answers {} to DELETE: sessions are not given back", seen.words()),
            )
            .advise("let the server take DELETE, or say 405");
    }
    let ask = wire.request("ping", Value::Null).of(visit);
    let id = ask.id;
    let unknown = |because: String| {
        Subject::Session.unknown("delete", "whether a session that was ended is gone", because)
    };
    match wire.ask(ask).await {
        Err(miss) => unknown(miss.to_string()),
        Ok(after) if after.session_loss(id) != Loss::None => Subject::Session.good(
            "delete",
            format!("ends a session by DELETE ({}), and it is gone then", status.as_u16()),
        ),
        Ok(after) if after.result().is_some() => Subject::Session
            .warning(
                "delete",
                format!(
                    "accepts DELETE ({}), but the session still answers afterwards",
                    status.as_u16()
                ),
            )
            .advise("let DELETE end the session, so that nobody goes on with a stolen id"),
        Ok(after) => unknown(after.unfinished().unwrap_or_else(|| after.turned_away())),
    }
}

/// Returns an id of this form that was never issued. A short one might be another client's.
fn stranger_to(session: &str) -> String {
    if session.len() < SHORTEST {
        return "00000000-0000-4000-8000-000000000000".to_owned();
    }
    let turned = session.chars().map(|it| match it {
        '0'..='9' => turn(it, '0', 10, 5),
        'a'..='f' => turn(it, 'a', 6, 3),
        'A'..='F' => turn(it, 'A', 6, 3),
        'g'..='z' => turn(it, 'g', 20, 10),
        'G'..='Z' => turn(it, 'G', 20, 10),
        it => it,
    });
    turned.collect()
}

fn turn(it: char, first: char, count: u32, by: u32) -> char {
    let turned = (u32::from(it) - u32::from(first) + by) % count + u32::from(first);
    char::from_u32(turned).unwrap_or(it)
}

const SHORTEST: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strange_id_has_the_same_form_and_is_another() {
        assert_eq!(stranger_to("0f8b-4C1d-zz-99"), "5c3e-9F6a-pp-44");
        assert_ne!(stranger_to("lab-session-1"), "lab-session-1");
        assert_eq!(stranger_to("7").len(), 36);
    }
}
