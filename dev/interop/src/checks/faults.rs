//! Connections that the harness's own proxy breaks; the server works all the time.

use std::time::Duration;

use ridethrough::error::Kind;
use ridethrough::event::{Event, Events, Seen};
use ridethrough::machine::event::Remedy;
use ridethrough::model::ToolResult;
use ridethrough::server::Version;
use ridethrough::{Client, Error};
use tokio::time::{Instant, sleep};

use crate::bench::Bench;
use crate::partner::{Partner, Verdict, expect, holds, story};
use crate::proxy::{Order, Proxy};

pub(super) async fn a_cut_stream_is_resumed_and_the_tool_runs_once(bench: Bench) -> Verdict {
    cut(bench, Version::V2025_11_25, 1).await
}

pub(super) async fn a_cut_stream_of_an_older_revision_is_resumed_and_the_tool_runs_once(
    bench: Bench,
) -> Verdict {
    cut(bench, Version::V2025_06_18, 1).await
}

pub(super) async fn a_stream_that_is_cut_three_times_is_resumed_each_time(bench: Bench) -> Verdict {
    cut(bench, Version::V2025_11_25, 3).await
}

/// Cuts the stream of a call with progress, and its resumed streams, after their second event.
async fn cut(bench: Bench, version: Version, cuts: usize) -> Verdict {
    let key = format!("cut-{version}-{cuts}");
    let proxy = bench.proxy().await?;
    let partner = Partner::built(Client::builder(&proxy.url()).revision(version))?;
    partner.client.connect().await.map_err(story)?;
    proxy.order(Order::Cut { request: TOOL, events: 2 });
    for _ in 1..cuts {
        proxy.order(Order::Cut { request: "last-event-id", events: 1 });
    }
    let question = bench.surface.slow(&key, 12, 150);
    let answer = question.answer.clone();

    let call = partner.begin(question).timeout(Duration::from_secs(10));
    let result = call.on_progress(|_| {}).await.map_err(story)?;

    expect(proxy.done() == cuts, || format!("the stream was cut {} times", proxy.done()))?;
    holds(&result, &answer)?;
    bench.ran_once(&key)
}

pub(super) async fn an_answer_that_came_while_the_stream_was_cut_is_found_by_resuming(
    bench: Bench,
) -> Verdict {
    let (proxy, key) = (bench.proxy().await?, "cut-late");
    let partner = bench.partner_of(&proxy.url())?;
    partner.client.connect().await.map_err(story)?;
    proxy.order(Order::Cut { request: TOOL, events: 1 });
    // It ends before any of the servers lets a client resume, which is after 200 ms.
    let question = bench.surface.slow(key, 2, 30);
    let answer = question.answer.clone();

    let call = partner.begin(question).timeout(Duration::from_secs(5));
    let result = call.on_progress(|_| {}).await.map_err(story)?;

    expect(proxy.done() == 1, || "the stream was not cut".to_owned())?;
    holds(&result, &answer)?;
    bench.ran_once(key)
}

pub(super) async fn a_stream_that_the_server_closes_is_resumed_and_the_tool_runs_once(
    bench: Bench,
) -> Verdict {
    let (partner, key) = (bench.partner()?, "dropped");
    let mut events = partner.client.events();

    partner.call(bench.surface.drop_stream(key)).await?;

    expect(resumes(&mut events) > 0, || "the stream was not closed".to_owned())?;
    bench.ran_once(key)
}

fn resumes(events: &mut Events) -> usize {
    let mut resumes = 0;
    while let Some(seen) = events.try_next() {
        let Seen::Event { event: Event::Hiccup { remedy, .. }, .. } = seen else { continue };
        resumes += usize::from(matches!(remedy, Remedy::Resume { .. }));
    }
    resumes
}

pub(super) async fn a_question_on_a_cut_stream_is_asked_once_and_answered(bench: Bench) -> Verdict {
    let proxy = bench.proxy().await?;
    let partner = bench.partner_of(&proxy.url())?;
    partner.client.connect().await.map_err(story)?;
    // The priming event is the first, the question the second.
    proxy.order(Order::Cut { request: TOOL, events: 2 });

    let call = partner.begin(bench.surface.ask_elicitation());
    let result = call.timeout(Duration::from_secs(10)).await.map_err(story)?;

    expect(proxy.done() == 1, || "the stream was not cut".to_owned())?;
    holds(&result, bench.surface.defaults()[0])?;
    expect(partner.forms() == 1, || format!("it was asked {} times", partner.forms()))
}

pub(super) async fn a_cut_standing_stream_comes_back(bench: Bench) -> Verdict {
    let proxy = bench.proxy().await?;
    let partner = bench.partner_of(&proxy.url())?;
    proxy.order(Order::Cut { request: "GET /mcp", events: 1 });
    partner.client.keep_connected();
    partner.client.connect().await.map_err(story)?;
    let (question, changed) = bench.surface.change();

    let began = Instant::now();
    while proxy.done() == 0 && began.elapsed() < Duration::from_secs(3) {
        partner.call(question.clone()).await?;
        sleep(Duration::from_millis(100)).await;
    }
    expect(proxy.done() == 1, || "the standing stream was not cut".to_owned())?;
    // What was sent in the gap may be repeated; what is sent after it must arrive.
    sleep(Duration::from_millis(1500)).await;
    partner.forget();
    partner.call(question).await?;
    partner.hears(|it| *it == changed).await
}

pub(super) async fn answers_that_arrive_byte_by_byte_are_read(bench: Bench) -> Verdict {
    let proxy = bench.proxy().await?;
    let partner = bench.partner_of(&proxy.url())?;
    proxy.order(Order::Drip { request: bench.greeting() });

    partner.client.connect().await.map_err(story)?;
    proxy.order(Order::Drip { request: TOOL });
    partner.call(bench.surface.echo("é 漢 🦀")).await?;

    expect(proxy.done() == 2, || "nothing came byte by byte".to_owned())
}

pub(super) async fn a_503_with_a_hint_is_waited_out(bench: Bench) -> Verdict {
    let (proxy, key) = (bench.proxy().await?, &bench.key("busy"));
    let partner = bench.partner_of(&proxy.url())?;
    partner.client.connect().await.map_err(story)?;
    proxy.order(Order::Refuse { request: TOOL, head: BUSY });

    let began = Instant::now();
    // What may not run twice is in doubt: a proxy says 503 with a hint after the run, too.
    partner.begin(bench.surface.count(key, 0)).idempotent().await.map_err(story)?;

    expect(proxy.done() == 1, || "nothing was refused".to_owned())?;
    expect(began.elapsed() >= Duration::from_secs(1), || "the hint was undercut".to_owned())?;
    bench.ran_once(key)
}

pub(super) async fn a_bare_503_ends_an_unsafe_call_and_repeats_a_safe_one(bench: Bench) -> Verdict {
    let proxy = bench.proxy().await?;
    let refuse = || Order::Refuse { request: TOOL, head: GONE };

    in_doubt(&bench, &proxy, &bench.key("gone"), refuse).await
}

pub(super) async fn a_lost_answer_ends_an_unsafe_call_and_repeats_a_safe_one(
    bench: Bench,
) -> Verdict {
    let (proxy, key) = (bench.proxy().await?, &bench.key("lost"));

    in_doubt(&bench, &proxy, key, || Order::Swallow { request: TOOL }).await?;

    bench.ran_once(key)
}

/// Checks that an unsafe call under this fault says that it may have run, and that a safe one is answered.
async fn in_doubt(bench: &Bench, proxy: &Proxy, key: &str, fault: impl Fn() -> Order) -> Verdict {
    let partner = bench.partner_of(&proxy.url())?;
    partner.client.connect().await.map_err(story)?;

    proxy.order(fault());
    let unsafe_end = partner.begin(bench.surface.count(key, 0)).await;
    proxy.order(fault());
    let safe_end = partner.begin(bench.surface.echo("again")).idempotent().await;

    expect(proxy.done() == 2, || "the faults did not happen".to_owned())?;
    says_that_it_may_have_run(unsafe_end)?;
    holds(&safe_end.map_err(story)?, "again").map(|_| ())
}

/// Checks that a call that was cut off says so, and that it may have run.
pub(super) fn says_that_it_may_have_run(end: Result<ToolResult, Error>) -> Verdict {
    match end {
        Ok(result) => Err(format!("it was answered: {}", result.text())),
        Err(error) => {
            let is_interrupted = error.call().is_some_and(|it| it.kind == Kind::Interrupted);
            expect(is_interrupted && error.may_have_run(), || story(error))
        }
    }
}

/// The text that the body of a tool call contains.
pub(super) const TOOL: &str = r#""tools/call""#;
const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\n\
                    connection: close\r\n\r\n";
const GONE: &str =
    "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
