//! Ten calls: on a server that forgets the session while they are under way, and one after another on streams, each of
//! which ends a moment after its answer.
//!
//! Each of the ten gets a 404. A client in which each caller renews for itself makes ten sessions, and a client that
//! does not renew fails until it is restarted. And a client that closes the stream as soon as it has the answer loses
//! the connection with it.

use std::time::Duration;

use anyhow::Result;
use futures_util::future::join_all;
use ridethrough_lab::{Style, Times, When};

use crate::demo::judge::{ActVerdict, Judge, how_often, number, seconds};
use crate::demo::line::Tell;
use crate::demo::record::Record;
use crate::demo::scene::Scene;

pub(super) async fn play_forgotten(tell: Tell) -> Result<Record> {
    let scene = Scene::open(tell).await?;
    scene.rule(When::tool("echo"), Times::Once, |ask, diary| async move {
        diary.server("forget every session, answer 404 to all who name one");
        ask.mcp().forget_sessions();
        ask.pass().await;
    });

    let ends = join_all(names().map(|name| scene.call("echo", &name))).await;

    scene.close(ends).await
}

pub(super) fn judge_forgotten(record: &Record) -> ActVerdict {
    let mut judge = Judge::of(record);
    names().for_each(|name| judge.answered(&name));
    // The first handshake made the session that was forgotten.
    judge.handshakes(2);
    let renewals = number(record.handshakes.saturating_sub(1), "renewal");
    let answered = record.ends.iter().filter(|end| end.result.is_ok()).count();
    let longest = record.ends.iter().map(|end| end.took).max().unwrap_or_default();
    let most = record.runs.values().copied().max().unwrap_or_default();
    judge.verdict(format!(
        "{renewals} for {CALLS} callers; {answered} answered within {}; each ran {}",
        seconds(longest),
        how_often(most)
    ))
}

pub(super) async fn play_reused(tell: Tell) -> Result<Record> {
    let scene = Scene::open(tell).await?;
    scene.mcp.answers(Style::SseApart);
    scene.diary.server("answer on streams, and end each in a write of its own");

    let mut ends = Vec::new();
    for name in names() {
        ends.push(scene.call("echo", &name).await);
    }

    scene.close(ends).await
}

pub(super) fn judge_reused(record: &Record) -> ActVerdict {
    let mut judge = Judge::of(record);
    names().for_each(|name| judge.answered(&name));
    let (carriers, all) = (record.carriers, record.connections);
    judge.claim(
        (1..=MOST).contains(&carriers),
        format!("{CALLS} calls took {carriers} connections, more than {MOST}"),
    );
    judge.handshakes(1);
    let calls: Duration = record.ends.iter().map(|end| end.took).sum();
    judge.verdict(format!(
        "{} on {} in {}; {all} with the standing stream",
        number(record.ends.len(), "call"),
        number(carriers, "connection"),
        seconds(calls)
    ))
}

fn names() -> impl Iterator<Item = String> {
    (1..=CALLS).map(|number| format!("call {number}"))
}

const CALLS: usize = 10;
/// The most connections. A call that comes before the last stream was read to its end may open a second one.
const MOST: usize = 2;
