//! The server forgets the session while ten calls are under way.
//!
//! Each of the ten gets a 404. A client in which each caller renews for itself makes ten sessions, and a
//! client that does not renew fails until it is restarted.

use anyhow::Result;
use futures_util::future::join_all;
use ridethrough_lab::{Times, When};

use crate::demo::judge::{ActVerdict, Judge, how_often, number, seconds};
use crate::demo::line::Tell;
use crate::demo::record::Record;
use crate::demo::scene::Scene;

pub(super) async fn play(tell: Tell) -> Result<Record> {
    let scene = Scene::open(tell).await?;
    scene.rule(When::tool("echo"), Times::Once, |ask, diary| async move {
        diary.server("forget every session, answer 404 to all who name one");
        ask.mcp().forget_sessions();
        ask.pass().await;
    });

    let ends = join_all(names().map(|name| scene.call("echo", &name))).await;

    scene.close(ends).await
}

pub(super) fn judge(record: &Record) -> ActVerdict {
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

fn names() -> impl Iterator<Item = String> {
    (1..=CALLS).map(|number| format!("call {number}"))
}

const CALLS: usize = 10;
