//! Streams: the standing one, whether a dropped stream can be resumed, and what that means for calls.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use crate::finding::{Finding, Subject};
use crate::notes::Notes;
use crate::question::{Ask, Visit};
use crate::seen::{AnswerSeen, ReadEnd, Streamed};
use crate::wire::{Miss, WATCH, Wire, millis};

/// Opens the standing stream and watches it for a moment.
pub(crate) async fn stand(wire: &mut Wire, visit: &Visit) -> Finding {
    let mut seen = wire.ask(Ask::listen(WATCH).of(visit)).await;
    if seen.as_ref().is_ok_and(|it| it.head.status.as_u16() == 409) {
        // The server may not have noticed yet that a stream was closed a moment ago.
        sleep(Duration::from_millis(300)).await;
        seen = wire.ask(Ask::listen(WATCH).of(visit)).await;
    }
    match seen {
        Err(Miss::Late) => Subject::Streams.unknown("standing", "the standing stream", Miss::Late),
        Err(miss) => Subject::Streams
            .warning("standing", format!("a GET for the standing stream has no answer: {miss}"))
            .advise(
                "let the server send the head of the stream at once, or answer 405 if it has none",
            ),
        Ok(seen) => judge_standing(&seen),
    }
}

fn judge_standing(seen: &AnswerSeen) -> Finding {
    let status = seen.head.status.as_u16();
    match (&seen.stream, status) {
        (Some(stream), _) => judge_stream(seen, stream),
        (None, 405) => Subject::Streams.note(
            "standing",
            "has no standing stream (405): changed lists and requests of the server arrive \
                 with calls only",
        ),
        (None, 200..=299) => Subject::Streams
            .warning(
                "standing",
                format!(
                    "answers {status} to a GET, but not with an event \
                 stream: our client tries again and again, ever more rarely"
                ),
            )
            .advise("let the server answer GET with `text/event-stream`, or with 405"),
        (None, _) if seen.is_busy() => {
            Subject::Streams.unknown("standing", "the standing stream", seen.turned_away())
        }
        (None, _) => Subject::Streams
            .warning(
                "standing",
                format!(
                    "answers {} to a GET for the standing stream, where \
                 405 says that there is none",
                    seen.words()
                ),
            )
            .advise("let the server answer GET with `text/event-stream`, or with 405"),
    }
}

fn judge_stream(seen: &AnswerSeen, stream: &Streamed) -> Finding {
    let mut said = Vec::new();
    if stream.before.is_some() {
        said.push("begins with an event id".to_owned());
    }
    if let Some(retry) = stream.retry {
        said.push(format!("asks to wait {} before a reconnect", millis(retry)));
    }
    let said = if said.is_empty() { String::new() } else { format!("; it {}", said.join(" and ")) };
    match &seen.end {
        ReadEnd::Open => {
            Subject::Streams.good("standing", format!("holds a standing stream open{said}"))
        }
        ReadEnd::Ended if stream.retry.is_some() => Subject::Streams
            .note("standing", format!("ends its standing stream at once, to be polled{said}")),
        ReadEnd::Ended => Subject::Streams
            .warning(
                "standing",
                format!(
                    "ends its standing stream within a second{said}: our \
                 client opens it again, ever more rarely"
                ),
            )
            .advise(
                "let the server, and what stands before it, keep the stream open; or answer 405",
            ),
        ReadEnd::Overlong => Subject::Streams.warning("standing", "floods its standing stream"),
        ReadEnd::Broken(failure) => {
            Subject::Streams.warning("standing", format!("its standing stream breaks: {failure}"))
        }
    }
}

/// Opens the standing stream of a stateless server, which is another request there.
pub(crate) async fn listen(wire: &mut Wire) -> Finding {
    let news =
        json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true});
    let ask = wire.stateless(LISTEN, json!({ "notifications": news })).watched(WATCH);
    match wire.ask(ask).await {
        Err(miss) => Subject::Streams.unknown("listen", STATELESS, miss),
        Ok(seen) if seen.is_busy() => {
            Subject::Streams.unknown("listen", STATELESS, seen.turned_away())
        }
        Ok(seen) if seen.answer.is_none() && seen.stream.is_some() && seen.end == ReadEnd::Open => {
            let what = "without a session it holds a standing stream open (`subscriptions/listen`)";
            Subject::Streams.good("listen", what)
        }
        Ok(seen) => Subject::Streams.note(
            "listen",
            format!(
                "without a session it has no standing stream (`{LISTEN}` brings {}): changed lists are not \
                 told, and `ridethrough watch` asks every five seconds whether it is there",
                seen.words()
            ),
        ),
    }
}

/// The result of resuming the answer to a harmless request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// Answers are not streams.
    Json,
    /// Events have no ids.
    NoIds,
    /// Events have no ids, and there is no session that would keep them.
    NoSession,
    /// Only the answer itself has an id: there is nothing to resume from before it.
    Late,
    /// The lost answer came again.
    Replayed,
    /// The server refuses, or does not send the answer again.
    Refused(String),
    Unknown(String),
}

/// Pretends to have lost the answer to a request, and asks for the rest of its stream.
pub(crate) async fn resume(wire: &mut Wire, visit: &Visit, seen: &AnswerSeen, id: u64) -> Resume {
    let Some(stream) = &seen.stream else { return Resume::Json };
    let Some(before) = &stream.before else {
        return match (&stream.at, &visit.session) {
            (Some(_), _) => Resume::Late,
            (None, Some(_)) => Resume::NoIds,
            (None, None) => Resume::NoSession,
        };
    };
    match wire.ask(Ask::resume(before, id, WATCH).of(visit)).await {
        Err(miss) => Resume::Unknown(miss.to_string()),
        Ok(seen) if seen.answer.is_some() => Resume::Replayed,
        Ok(seen) if seen.stream.is_some() => {
            Resume::Refused("a stream without the answer".to_owned())
        }
        Ok(seen) if seen.is_busy() => Resume::Unknown(seen.turned_away()),
        Ok(seen) => Resume::Refused(seen.words()),
    }
}

/// Reports the result, and what becomes of a call whose stream drops.
pub(crate) fn tell(resume: &Resume, retry: Option<Duration>, notes: &mut Notes) {
    notes.add(judge_resume(resume));
    if let Some(retry) = retry {
        let wait = millis(retry);
        let what = format!("asks to wait {wait} before a stream is resumed; our client does");
        notes.add(Subject::Streams.note("retry", what));
    }
    notes.add(match resume {
        Resume::Replayed => Subject::Streams
            .good("drop", "a call whose stream drops is resumed; no tool runs twice"),
        Resume::Unknown(_) => Subject::Streams.unknown(
            "drop",
            "what becomes of a call whose stream drops",
            "resuming could not be tried",
        ),
        _ => Subject::Streams.note(
            "drop",
            "a call whose connection drops is sent again if its tool only reads or you marked it; \
             any other ends as interrupted: the server may have run it",
        ),
    });
}

fn judge_resume(resume: &Resume) -> Finding {
    let seen = "(seen on `ping`, and a tool may be answered otherwise)";
    match resume {
        Resume::Json => {
            let what = format!("answers as JSON: there is no stream to resume {seen}");
            Subject::Streams.note("resume", what)
        }
        Resume::NoIds => {
            let what =
                format!("its events have no ids: a stream that drops cannot be resumed {seen}");
            let advice = "give the server an event store: then a dropped stream costs nothing";
            Subject::Streams.note("resume", what).advise(advice)
        }
        Resume::NoSession => {
            let what = "has no sessions, and its events have no ids: a stream that drops cannot be resumed";
            Subject::Streams.note("resume", format!("{what} {seen}"))
        }
        Resume::Late => {
            let what = format!(
                "the first event id comes with the answer: before it there is nothing to resume \
                 from {seen}"
            );
            let advice = "let the server send an empty event with an id first";
            Subject::Streams.note("resume", what).advise(advice)
        }
        Resume::Replayed => {
            let what = "resumes a stream by `Last-Event-ID`: a lost answer came again";
            Subject::Streams.good("resume", what)
        }
        Resume::Refused(words) => {
            let what = format!("gives event ids, but a GET with `Last-Event-ID` brings {words}");
            let advice = "let the server replay what follows an event id, or give none";
            Subject::Streams.warning("resume", what).advise(advice)
        }
        Resume::Unknown(why) => Subject::Streams.unknown("resume", "resuming a stream", why),
    }
}

const LISTEN: &str = "subscriptions/listen";
const STATELESS: &str = "the standing stream without a session";
