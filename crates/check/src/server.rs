//! A server at a URL: everything that is looked at, in its order.

use ridethrough::machine::hints::OperatorHints;
use serde_json::Value;

use crate::ended::Ended;
use crate::era::Era;
use crate::finding::Subject;
use crate::hello::Hello;
use crate::notes::Notes;
use crate::question::Visit;
use crate::wire::Wire;
use crate::{era, guard, hello, pace, reach, session, streams, tools};

/// Runs the whole examination, and returns how the check ended.
pub async fn examine(mut wire: Wire, said: &OperatorHints, notes: &mut Notes) -> Ended {
    if let Err(ended) = reach::look(&mut wire, notes).await {
        return ended;
    }
    let hello = match hello::look(&mut wire, notes).await {
        Ok(hello) => hello,
        Err(ended) => return ended,
    };
    if hello.visit.is_stateless() {
        tools::look(&mut wire, &hello, said, notes).await;
        notes.add(streams::listen(&mut wire).await);
        pace::look(&mut wire, &hello.visit, notes).await;
        guard::look(&mut wire, &hello.visit, notes).await;
        return Ended::Done;
    }
    if !look_inside(&mut wire, &hello, said, notes).await {
        wire.give_back(&hello.visit).await;
    }
    look_outside(&mut wire, &hello.visit, notes).await;
    Ended::Done
}

/// Examines what can only be seen within a session. Returns whether the server was asked to end it.
async fn look_inside(
    wire: &mut Wire,
    hello: &Hello,
    said: &OperatorHints,
    notes: &mut Notes,
) -> bool {
    let visit = &hello.visit;
    notes.add(session::judge_id(hello));
    tools::look(wire, hello, said, notes).await;
    look_at_resuming(wire, visit, notes).await;
    let mut beside = wire.beside();
    let ((), standing) =
        tokio::join!(pace::look(wire, visit, notes), streams::stand(&mut beside, visit));
    beside.hang_up();
    notes.add(standing);
    era::misname(wire, visit, notes).await;
    session::ask_unknown(wire, visit, notes).await;
    session::end(wire, visit, notes).await
}

async fn look_at_resuming(wire: &mut Wire, visit: &Visit, notes: &mut Notes) {
    let ask = wire.request("ping", Value::Null).of(visit);
    let id = ask.id;
    match wire.ask(ask).await {
        Err(miss) => notes.add(Subject::Streams.unknown("resume", "resuming a stream", miss)),
        Ok(seen) if seen.is_busy() => {
            let because = seen.turned_away();
            notes.add(Subject::Streams.unknown("resume", "resuming a stream", because));
        }
        Ok(seen) if seen.answer.is_none() => {
            let what = match seen.unfinished() {
                Some(because) => format!("does not answer `ping`: {because}"),
                None => format!("answers {} to `ping`", seen.words()),
            };
            let what = format!("{what}; our client asks that to see whether it lives");
            let advice = "let the server answer `ping`, with an error if need be";
            notes.add(Subject::Protocol.bad("ping", what).advise(advice));
            notes.add(Subject::Streams.unknown(
                "resume",
                "resuming a stream",
                "`ping` was not answered",
            ));
        }
        Ok(seen) => {
            let resume = streams::resume(&mut wire.beside(), visit, &seen, id).await;
            let retry = seen.stream.as_ref().and_then(|it| it.retry);
            streams::tell(&resume, retry, notes);
        }
    }
}

/// Examines what needs sessions of its own, or none.
async fn look_outside(wire: &mut Wire, visit: &Visit, notes: &mut Notes) {
    era::offer_nonsense(wire, notes).await;
    let (era, mut finding) = era::look(wire).await;
    notes.is_modern = era.is_modern();
    let is_both = matches!(era, Era::Modern(_));
    if is_both {
        finding.what += BOTH;
        notes.confine_standing_stream();
    }
    notes.add(finding);
    if is_both {
        notes.add(streams::listen(wire).await);
    }
    guard::look(wire, visit, notes).await;
}

const BOTH: &str = ", and our commands speak that with it unless they need a session; what is said here of sessions, \
                    and of streams that are resumed, is for those and for older clients";
