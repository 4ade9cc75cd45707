//! Ten answers on streams, each of which ends a moment after its answer.
//!
//! A client that closes the stream as soon as it has the answer loses the connection with it.

use std::time::Duration;

use anyhow::Result;
use ridethrough_lab::Style;

use crate::demo::judge::{ActVerdict, Judge, number, seconds};
use crate::demo::line::Tell;
use crate::demo::record::Record;
use crate::demo::scene::Scene;

pub(super) async fn play(tell: Tell) -> Result<Record> {
    let scene = Scene::open(tell).await?;
    scene.mcp.answers(Style::SseApart);
    scene.diary.server("answer on streams, and end each in a write of its own");

    let mut ends = Vec::new();
    for name in names() {
        ends.push(scene.call("echo", &name).await);
    }

    scene.close(ends).await
}

pub(super) fn judge(record: &Record) -> ActVerdict {
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
