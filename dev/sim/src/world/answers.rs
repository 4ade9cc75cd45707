//! The server's answers to calls: correct, faulty, or none.

use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use http::{HeaderValue, Response};
use ridethrough_lab::{Ask, Sse};
use serde_json::Value;

use super::dialect::Dialect;
use super::faults::Fault;
use super::host::Host;
use super::order::Order;
use super::streams::{Recorded, event_id, read_event_id};

/// Applies a fault that comes before the tool runs.
pub(super) async fn before(host: &Host, fault: Fault, ask: Ask, order: Order) {
    match fault {
        Fault::ResetBefore => ask.reply().1.reset(),
        Fault::CloseBefore => ask.reply().1.close().await,
        Fault::Deferral => defer(host, ask, order, &[429, 425, 503]).await,
        Fault::GatewayBefore => gateway(host, ask).await,
        // Only HTTP/2 can refuse a stream; on HTTP/1.1 this is a reset.
        Fault::RefusedStream => ask.reply().1.reset_with(Reason::REFUSED_STREAM),
        _ => ask.reply().1.hold().await,
    }
}

/// Applies a fault that comes after the tool has run.
pub(super) async fn after(host: &Host, fault: Fault, ask: Ask, order: Order) {
    match fault {
        Fault::ResetAfter => ask.reply().1.reset(),
        Fault::CloseAfter => ask.reply().1.close().await,
        Fault::GatewayAfter => gateway(host, ask).await,
        Fault::Broken => ask.status(500, &[], "Internal Server Error").await,
        Fault::Nonsense => ask.status(200, &[JSON], "<html>it works</html>").await,
        Fault::CutBody => cut_body(host, ask, order).await,
        Fault::Door => at_the_door(host, ask, order).await,
        Fault::LyingDeferral => {
            host.oracle().lied(order.call);
            defer(host, ask, order, &[429, 425]).await;
        }
        Fault::LyingLoss => {
            let dialect = Dialect::draw(&mut host.chance().rng);
            host.oracle().called_lost(order.call, dialect.is_refusal_by_itself());
            let body = dialect.body(&ask.id().to_string());
            let kind = if body.starts_with('{') { JSON } else { TEXT };
            ask.status(dialect.status, &[kind], body).await;
        }
        Fault::OddRefusal => refuse_oddly(host, ask, order).await,
        Fault::Accepted if !ask.is_stateless() => accept(host, ask, order).await,
        Fault::Flood => flood(host, ask, order).await,
        _ => ask.reply().1.hold().await,
    }
}

/// Answers correctly.
pub(super) async fn well(host: &Host, ask: Ask, order: Order) {
    if host.happens(Fault::Streams) {
        return stream(host, ask, order).await;
    }
    let body = order.response(&ask.id());
    ask.json(body).await;
}

/// Asks for time by one of these statuses.
async fn defer(host: &Host, ask: Ask, order: Order, statuses: &[u16]) {
    let wait = 1 + host.below(4);
    let status = statuses[pick(host, statuses.len())];
    host.oracle().deferred(order.call, Duration::from_secs(wait));
    ask.status(status, &[("retry-after", &wait.to_string())], "").await;
}

/// Refuses a call that was run, as filters of answers, limits on them and pages of errors do.
async fn at_the_door(host: &Host, ask: Ask, order: Order) {
    const PAGE: &str = "<html>no</html>";
    match pick(host, 6) {
        0 => defer(host, ask, order, &[503]).await,
        1 => ask.status(307, &[("location", ERROR_PAGE)], PAGE).await,
        status => ask.status([403, 405, 413, 428][status - 2], &[HTML], PAGE).await,
    }
}

fn pick(host: &Host, most: usize) -> usize {
    usize::try_from(host.below(most as u64)).unwrap_or_default()
}

async fn gateway(host: &Host, ask: Ask) {
    let status = [502, 503, 504, 408][usize::try_from(host.below(4)).unwrap_or_default()];
    ask.status(status, &[], "<html>bad gateway</html>").await;
}

/// Refuses a call that was run, by a status and words that prove nothing.
async fn refuse_oddly(host: &Host, ask: Ask, order: Order) {
    const STATUSES: [u16; 20] = [
        400, 402, 404, 406, 409, 410, 412, 416, 418, 422, 423, 424, 451, 499, 500, 501, 505, 507,
        520, 529,
    ];
    host.oracle().called_lost(order.call, false);
    let pick = |most| pick(host, most);
    let status = STATUSES[pick(STATUSES.len())];
    let words = ["no", "Session not found", "Server not initialized", "rate limited", ""][pick(5)];
    let id = if pick(2) == 0 { ask.id().to_string() } else { "null".to_owned() };
    match pick(3) {
        0 => ask.status(status, &[TEXT], words).await,
        1 => ask.status(status, &[HTML], format!("<h1>{words}</h1>")).await,
        _ => {
            let error = format!(r#"{{"code":-32000,"message":"{words}"}}"#);
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
            ask.status(status, &[JSON], body).await;
        }
    }
}

/// Promises a body and breaks it off in the middle.
async fn cut_body(host: &Host, ask: Ask, order: Order) {
    let body = order.response(&ask.id());
    let mut head = Response::new(());
    head.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
    head.headers_mut().insert("content-length", HeaderValue::from(body.len()));
    let kept = usize::try_from(host.below(body.len() as u64)).unwrap_or_default();
    let mut stream = ask.reply().1.open(head).await;
    stream.send(Bytes::from(body).slice(..kept)).await;
    stream.cut().await;
}

/// Answers 202, and sends the answer later on the standing stream, if at all.
async fn accept(host: &Host, ask: Ask, order: Order) {
    let (id, session) = (ask.id(), ask.entry.session.clone());
    ask.status(202, &[], "").await;
    tokio::time::sleep(host.millis(2000)).await;
    if host.below(3) > 0 {
        host.mcp.push_to(session.as_deref(), &order.response(&id));
    }
}

/// Writes an endless event for as long as the client reads it.
async fn flood(host: &Host, ask: Ask, order: Order) {
    let mut sse = ask.sse().await;
    let (mut sent, piece) = (0, Bytes::from_static(&[b'x'; 8 << 10]));
    while sent < 16 << 20 && sse.raw(piece.clone()).await {
        sent += piece.len() as u64;
        tokio::task::yield_now().await;
    }
    host.oracle().flooded(order.call, sent, MOST_TAKEN_IN);
}

async fn stream(host: &Host, ask: Ask, order: Order) {
    let (id, token) = (ask.id(), ask.params()["_meta"]["progressToken"].clone());
    let steps = if token.is_null() || !host.happens(Fault::Progress) {
        Vec::new()
    } else {
        (1..4).map(|step| progress(&token, step)).collect()
    };
    if !ask.is_stateless() && host.happens(Fault::Resumable) {
        let number = super::host::lock(&host.streams).record(order, &id, steps);
        let sse = ask.sse().await;
        return play(host, sse, number, 0).await;
    }
    let mut sse = ask.sse().await;
    if host.happens(Fault::OddEvents) {
        host.oracle().met(order.call, Fault::OddEvents);
        odd_events(&mut sse).await;
    }
    for step in steps {
        sse.event(None, &step).await;
        tokio::time::sleep(host.millis(20)).await;
    }
    if host.happens(Fault::CutStream) {
        host.oracle().met(order.call, Fault::CutStream);
        return end_badly(host, sse).await;
    }
    finish(host, sse, None, &order.response(&id)).await;
}

/// Plays a stream from this event on, if no fault intervenes.
async fn play(host: &Host, mut sse: Sse, number: usize, from: usize) {
    let Some(Recorded { order, events }) = super::host::lock(&host.streams).get(number).cloned()
    else {
        return;
    };
    if host.happens(Fault::Polling) {
        let wait = Duration::from_millis(100 + host.below(3000));
        host.oracle().met(order.call, Fault::Polling);
        host.oracle().deferred(order.call, wait);
        // An event that the client has seen before, and nothing new.
        sse.prime(&event_id(number, from.saturating_sub(1))).await;
        sse.retry(wait).await;
        return sse.finish().await;
    }
    let is_cut = host.happens(Fault::CutStream);
    let left = events.len().saturating_sub(from) as u64;
    let kept = if is_cut { host.below(left.max(1)) } else { left };
    let kept = usize::try_from(kept).unwrap_or_default();
    let last = events.len().saturating_sub(1);
    for (place, event) in events.iter().enumerate().skip(from).take(kept) {
        let id = event_id(number, place);
        if place == last {
            return finish(host, sse, Some(&id), event).await;
        }
        sse.event(Some(&id), event).await;
        tokio::time::sleep(host.millis(20)).await;
    }
    host.oracle().met(order.call, Fault::CutStream);
    end_badly(host, sse).await;
}

/// Resumes a stream.
pub(super) async fn resume(host: &Host, ask: Ask) {
    let seen = ask.entry.last_event_id.as_deref().and_then(read_event_id);
    let Some((number, place)) = seen else { return ask.pass().await };
    let known = super::host::lock(&host.streams).get(number).cloned();
    let Some(Recorded { order, events }) = known else { return ask.status(404, &[], "").await };
    host.oracle().resumed(order.call);
    if ask.is_refused() {
        return ask.pass().await;
    }
    if host.happens(Fault::ResumeBusy) {
        host.oracle().met(order.call, Fault::ResumeBusy);
        return gateway(host, ask).await;
    }
    if events.is_empty() || host.happens(Fault::ResumeGone) {
        return ask.status(404, &[], "").await;
    }
    if host.happens(Fault::ResumeRefused) {
        host.oracle().met(order.call, Fault::ResumeRefused);
        return ask.status(400, &[TEXT], "events are not kept for that long").await;
    }
    let sse = ask.sse().await;
    play(host, sse, number, place + 1).await;
}

async fn finish(host: &Host, mut sse: Sse, id: Option<&str>, answer: &str) {
    if !host.happens(Fault::Apart) {
        return sse.event_and_finish(id, answer).await;
    }
    sse.event(id, answer).await;
    tokio::time::sleep(host.millis(200)).await;
    sse.finish().await;
}

async fn end_badly(host: &Host, sse: Sse) {
    match host.below(3) {
        0 => sse.finish().await,
        1 => sse.cut().await,
        _ => sse.reset(),
    }
}

async fn odd_events(sse: &mut Sse) {
    sse.comment("still here").await;
    sse.event(None, "this is no JSON").await;
    sse.event(None, r#"{"jsonrpc":"2.0","id":987654321,"result":{"call":"nobody's"}}"#).await;
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    sse.event(None, log).await;
}

fn progress(token: &Value, step: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{step}}}}}"#
    )
}

/// The most bytes that a client may read of an endless answer: what it holds at most, and what pipes and
/// cables hold on the way.
const MOST_TAKEN_IN: u64 = 3 * super::MESSAGE_LIMIT as u64 + (1 << 20);
/// Where a redirect of the door leads: a page that takes no POST.
pub(super) const ERROR_PAGE: &str = "/m.html";
const HTML: (&str, &str) = ("content-type", "text/html");
const JSON: (&str, &str) = ("content-type", "application/json");
const TEXT: (&str, &str) = ("content-type", "text/plain");
