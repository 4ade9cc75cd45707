//! Streams that are accepted and dropped again and again: a call on one ends, in time and once.
//!
//! The servers here name each event `<request>/<number>`, so that a resume says which answer it waits for and
//! what it has seen of it.

use std::time::Duration;

use ridethrough::Error;
use ridethrough::error::Kind;
use ridethrough::event::{Delivered, Inbox};
use ridethrough_lab::{Ask, Entry, Protocol, Sse, Times, When};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::rig::{Rig, call, millis, params, secs, text};

on_every_carrier! {
    async fn a_stream_that_is_always_dropped_leaves_its_call_exhausted_and_in_doubt(rig: Rig) {
        every_stream(&rig, primes_and_ends);

        let error = deploy(&rig).await.unwrap_err();

        assert_eq!(error.call().unwrap().kind, Kind::Exhausted);
        assert!(error.may_have_run());
        assert_eq!(rig.count(When::tool("deploy")), 1);
    }

    async fn a_stream_that_is_always_dropped_is_resumed_8_times(rig: Rig) {
        every_stream(&rig, primes_and_ends);

        let error = deploy(&rig).await.unwrap_err();

        assert_eq!(rig.count(When::resume()), 8);
        assert_eq!(error.call().unwrap().attempts, 9);
    }

    async fn a_stream_that_is_always_dropped_ends_its_call_in_under_30_s(rig: Rig) {
        every_stream(&rig, primes_and_ends);
        let started = Instant::now();

        deploy(&rig).await.unwrap_err();

        assert!(started.elapsed() < secs(30), "{:?}", started.elapsed());
    }

    async fn the_report_of_an_exhausted_call_names_its_attempts_and_its_time(rig: Rig) {
        every_stream(&rig, primes_and_ends);
        let started = Instant::now();

        let report = deploy(&rig).await.unwrap_err().report();

        let tried = format!("tried: 9 attempts in {:.1} s", started.elapsed().as_secs_f64());
        assert!(report.contains(&tried), "{tried}\n{report}");
    }

    async fn nothing_is_asked_for_a_call_that_is_exhausted(rig: Rig) {
        every_stream(&rig, primes_and_ends);
        let client = rig.client();
        call(&client, "deploy", "a").await.unwrap_err();

        tokio::time::sleep(secs(3600)).await;

        assert_eq!((rig.count(When::tool("deploy")), rig.count(When::resume())), (1, 8));
    }

    async fn a_new_id_on_every_resume_is_no_progress(rig: Rig) {
        every_stream(&rig, primes_anew_and_ends);
        let started = Instant::now();

        let error = deploy(&rig).await.unwrap_err();

        assert_given_up_after_8_resumes(&rig, &error, started.elapsed());
        let seen: Vec<_> = resumes(&rig).into_iter().map(|it| Place::resumed(&it).number).collect();
        assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    async fn a_stream_that_is_always_reset_ends_like_one_that_is_dropped(rig: Rig) {
        every_stream(&rig, primes_and_resets);
        let started = Instant::now();

        let error = deploy(&rig).await.unwrap_err();

        assert_given_up_after_8_resumes(&rig, &error, started.elapsed());
    }

    async fn a_stream_that_is_always_reset_is_not_resumed_in_a_hot_loop(rig: Rig) {
        every_stream(&rig, primes_and_resets);

        deploy(&rig).await.unwrap_err();

        let times = rig.times(&When::resume());
        assert_eq!(times.len(), 8);
        assert_gaps_of_at_least(millis(100), &times);
    }

    // On HTTP/2 the standing stream dies with the connection, which must not count against the call.
    async fn a_connection_that_is_always_reset_ends_like_a_stream_that_is_dropped(rig: Rig) {
        every_stream(&rig, primes_and_drops_the_connection);
        let started = Instant::now();

        let error = deploy(&rig).await.unwrap_err();

        assert_given_up_after_8_resumes(&rig, &error, started.elapsed());
        assert_gaps_of_at_least(millis(100), &rig.times(&When::resume()));
    }

    async fn a_connection_that_is_always_reset_is_dialed_once_for_each_resume(rig: Rig) {
        every_stream(&rig, primes_and_drops_the_connection);

        deploy(&rig).await.unwrap_err();

        let first_ones = if rig.is_http2() { 1 } else { 2 };
        assert_eq!(rig.server.dials(), first_ones + 8);
    }

    async fn resumes_reset_before_their_head_end_like_streams_that_are_dropped(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Always, primes_and_resets);
        rig.mcp.rule(When::resume(), Times::Always, |ask| async { ask.reply().1.reset() });
        let started = Instant::now();

        let error = deploy(&rig).await.unwrap_err();

        assert_given_up_after_8_resumes(&rig, &error, started.elapsed());
        assert_gaps_of_at_least(millis(100), &rig.times(&When::resume()));
    }

    async fn retry_0_for_ever_ends_at_the_deadline(rig: Rig) {
        every_stream(&rig, asks_for_no_pause_and_ends);
        let started = Instant::now();

        let error = deploy(&rig).await.unwrap_err();

        assert_eq!(error.call().unwrap().kind, Kind::DeadlinePassed);
        assert!(error.may_have_run());
        assert!(started.elapsed() <= secs(601), "{:?}", started.elapsed());
    }

    async fn retry_0_for_ever_never_makes_more_than_10_gets_a_second(rig: Rig) {
        every_stream(&rig, asks_for_no_pause_and_ends);

        deploy(&rig).await.unwrap_err();

        let times = rig.times(&When::resume());
        assert!(times.len() > 60, "it is polled, and not given up: {}", times.len());
        assert!(times.windows(11).all(|eleven| eleven[10] - eleven[0] >= secs(1)), "{times:?}");
    }

    async fn a_log_line_before_each_drop_ends_at_1000_resumes(rig: Rig) {
        every_stream(&rig, logs_and_ends);

        let error = deploy(&rig).await.unwrap_err();

        assert_eq!(error.call().unwrap().kind, Kind::Exhausted);
        assert!(error.may_have_run());
        assert_eq!(rig.count(When::resume()), 1000);
    }

    async fn a_log_line_before_each_drop_ends_at_the_deadline_after_20_resumes_or_more(rig: Rig) {
        every_stream(&rig, logs_and_ends);
        let client = rig.client();
        let started = Instant::now();

        let call = client.request("tools/call", params("deploy", "a")).timeout(secs(10));
        let error = call.await.unwrap_err();

        assert_eq!(error.call().unwrap().kind, Kind::DeadlinePassed);
        assert!((secs(10)..secs(11)).contains(&started.elapsed()), "{:?}", started.elapsed());
        assert!(rig.count(When::resume()) >= 20, "{}", rig.count(When::resume()));
    }

    async fn twenty_drops_with_a_notification_each_end_with_the_answer(rig: Rig) {
        every_stream(&rig, logs_20_times_and_answers);

        let result = deploy(&rig).await.unwrap();

        assert!(result.contains("done"), "{result}");
        assert_eq!(rig.count(When::resume()), 20);
        assert_eq!(rig.mcp.executions("deploy"), 1);
    }

    async fn each_notification_of_a_stream_that_drops_20_times_is_delivered_once(rig: Rig) {
        every_stream(&rig, logs_20_times_and_answers);
        let client = rig.client();
        let mut inbox = client.inbox();

        call(&client, "deploy", "a").await.unwrap();

        assert_eq!(log_lines(&mut inbox).await, Vec::from_iter(1..=20));
    }

    // A server may replay more than it was asked for: the ids tell what was seen.
    async fn notifications_that_every_resume_replays_are_delivered_once(rig: Rig) {
        every_stream(&rig, replays_all_and_logs_20_times_and_answers);
        let client = rig.client();
        let mut inbox = client.inbox();

        call(&client, "deploy", "a").await.unwrap();

        assert_eq!(log_lines(&mut inbox).await, Vec::from_iter(1..=20));
    }

    async fn thirty_polls_without_new_ids_end_with_the_answer(rig: Rig) {
        polled_30_times(&rig);

        let result = deploy(&rig).await.unwrap();

        assert!(result.contains("done"), "{result}");
        assert_eq!(rig.count(When::resume()), 31);
        assert_eq!(rig.mcp.executions("deploy"), 1);
    }

    async fn no_poll_comes_before_the_time_that_the_server_asked_for(rig: Rig) {
        polled_30_times(&rig);

        deploy(&rig).await.unwrap();

        let mut times = rig.times(&When::tool("deploy"));
        times.extend(rig.times(&When::resume()));
        assert_eq!(times.len(), 32);
        assert_gaps_of_at_least(millis(200), &times);
    }

    async fn a_standing_stream_that_is_always_closed_costs_at_most_60_gets_in_an_hour(rig: Rig) {
        rig.mcp.rule(When::listen(), Times::Always, |ask| async { ask.sse().await.finish().await });

        calls_for_an_hour(&rig).await;

        assert_asked_for_at_most_60_times(&rig);
    }

    async fn a_standing_stream_with_ids_that_is_always_closed_costs_no_more(rig: Rig) {
        rig.mcp.rule(When::listen(), Times::Always, primes_standing_stream_and_ends);
        rig.mcp.rule(When::resume(), Times::Always, primes_standing_stream_and_ends);

        calls_for_an_hour(&rig).await;

        assert_asked_for_at_most_60_times(&rig);
    }

    async fn calls_beside_a_standing_stream_that_is_always_closed_are_answered_at_once(rig: Rig) {
        rig.mcp.rule(When::listen(), Times::Always, |ask| async { ask.sse().await.finish().await });

        let slowest = calls_for_an_hour(&rig).await;

        assert_eq!(slowest, Duration::ZERO);
        assert_eq!(rig.count(When::tool("echo")), 60);
        assert_eq!(rig.mcp.executions("echo"), 60);
        assert_eq!(rig.count(When::method("initialize")), 1);
    }
}

/// Calls `deploy` with a client of its own.
async fn deploy(rig: &Rig) -> Result<String, Error> {
    let client = rig.client();
    call(&client, "deploy", "a").await.map(|result| result.as_str().to_owned())
}

/// Makes a call a minute for an hour, and returns how long the slowest one took.
async fn calls_for_an_hour(rig: &Rig) -> Duration {
    let client = rig.client();
    let mut slowest = Duration::ZERO;
    for _ in 0..60 {
        let asked = Instant::now();
        call(&client, "echo", "a").await.unwrap();
        slowest = slowest.max(asked.elapsed());
        tokio::time::sleep(secs(60)).await;
    }
    slowest
}

/// Serves every stream of a call of `deploy` like this: that of the POST and the resumed ones.
fn every_stream<Serving>(rig: &Rig, serve: impl Fn(Ask) -> Serving + Copy + Send + Sync + 'static)
where
    Serving: Future<Output = ()> + Send + 'static,
{
    rig.mcp.rule(When::tool("deploy"), Times::Always, serve);
    rig.mcp.rule(When::resume(), Times::Always, serve);
}

/// Serves like the server that clients reconnected to for ever: it accepts, primes with an id, and closes.
async fn primes_and_ends(ask: Ask) {
    let (mut sse, place) = open(ask).await;
    sse.prime(&place.at(1)).await;
    sse.finish().await;
}

async fn primes_anew_and_ends(ask: Ask) {
    let (mut sse, place) = open(ask).await;
    sse.prime(&place.at(place.number + 1)).await;
    sse.finish().await;
}

async fn primes_and_resets(ask: Ask) {
    let (mut sse, place) = open(ask).await;
    sse.prime(&place.at(1)).await;
    let_it_arrive().await;
    sse.reset();
}

async fn primes_and_drops_the_connection(ask: Ask) {
    let (mut sse, place) = open(ask).await;
    sse.prime(&place.at(1)).await;
    let_it_arrive().await;
    sse.drop_connection();
}

async fn primes_standing_stream_and_ends(ask: Ask) {
    let mut sse = ask.sse().await;
    sse.prime("standing").await;
    sse.finish().await;
}

async fn asks_for_no_pause_and_ends(ask: Ask) {
    let (mut sse, place) = open(ask).await;
    sse.retry(Duration::ZERO).await;
    sse.prime(&place.at(1)).await;
    sse.finish().await;
}

async fn logs_and_ends(ask: Ask) {
    let (mut sse, place) = open(ask).await;
    log(&mut sse, &place, place.number + 1).await;
    sse.finish().await;
}

async fn logs_20_times_and_answers(ask: Ask) {
    let (mut sse, place) = open(ask).await;
    match place.number {
        20 => place.answer(&mut sse).await,
        seen => log(&mut sse, &place, seen + 1).await,
    }
    sse.finish().await;
}

async fn replays_all_and_logs_20_times_and_answers(ask: Ask) {
    let (mut sse, place) = open(ask).await;
    for number in 1..=place.number {
        log(&mut sse, &place, number).await;
    }
    match place.number {
        20 => place.answer(&mut sse).await,
        seen => log(&mut sse, &place, seen + 1).await,
    }
    sse.finish().await;
}

/// Makes the server answer only after 30 polls, 200 ms apart.
fn polled_30_times(rig: &Rig) {
    rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        let (mut sse, place) = open(ask).await;
        sse.retry(millis(200)).await;
        sse.prime(&place.at(1)).await;
        sse.finish().await;
    });
    rig.mcp.rule(When::resume(), Times::Exactly(30), |ask| async {
        ask.sse().await.finish().await;
    });
    rig.mcp.rule(When::resume(), Times::Once, |ask| async {
        let (mut sse, place) = open(ask).await;
        place.answer(&mut sse).await;
        sse.finish().await;
    });
}

/// Opens a stream for a call; its POST runs the call.
async fn open(ask: Ask) -> (Sse, Place) {
    ask.run();
    let place = match ask.id() {
        Value::Null => Place::resumed(&ask.entry),
        request => Place { request, number: 0 },
    };
    (ask.sse().await, place)
}

async fn log(sse: &mut Sse, place: &Place, number: u64) {
    let message = json!({
        "jsonrpc": "2.0",
        "method": "notifications/message",
        "params": { "level": "info", "data": number },
    });
    sse.message(Some(&place.at(number)), &message).await;
}

/// Returns the numbers of the log lines that were delivered.
async fn log_lines(inbox: &mut Inbox) -> Vec<u64> {
    let mut numbers = Vec::new();
    while let Ok(delivered) = tokio::time::timeout(secs(1), inbox.next()).await {
        let Some(Delivered::Notification { params: Some(params), .. }) = delivered else {
            panic!("only log lines were sent: {delivered:?}");
        };
        let params: Value = serde_json::from_str(params.as_str()).unwrap();
        numbers.push(params["data"].as_u64().unwrap());
    }
    numbers
}

/// Waits until what was sent has arrived, because a reset may overtake it.
async fn let_it_arrive() {
    tokio::time::sleep(millis(1)).await;
}

/// The position in the stream of an answer: after this event of this request.
struct Place {
    request: Value,
    number: u64,
}

impl Place {
    /// Returns the position at which a client resumes.
    fn resumed(entry: &Entry) -> Self {
        let (request, number) = entry.last_event_id.as_ref().unwrap().split_once('/').unwrap();
        Self { request: request.parse().unwrap(), number: number.parse().unwrap() }
    }

    /// Returns the id of an event of this stream.
    fn at(&self, number: u64) -> String {
        format!("{}/{number}", self.request)
    }

    async fn answer(&self, sse: &mut Sse) {
        let message = json!({ "jsonrpc": "2.0", "id": self.request, "result": text("done") });
        sse.message(None, &message).await;
    }
}

fn resumes(rig: &Rig) -> Vec<Entry> {
    rig.mcp.log().into_iter().filter(|entry| When::resume().holds(entry)).collect()
}

fn assert_given_up_after_8_resumes(rig: &Rig, error: &Error, elapsed: Duration) {
    let failed = error.call().unwrap();
    assert_eq!(failed.kind, Kind::Exhausted);
    assert!(failed.may_have_run());
    assert_eq!((rig.count(When::resume()), failed.attempts), (8, 9));
    assert_eq!(rig.count(When::tool("deploy")), 1);
    assert!(elapsed < secs(30), "{elapsed:?}");
}

fn assert_asked_for_at_most_60_times(rig: &Rig) {
    let asked = rig.count(When::matches(|entry| entry.http == "GET"));
    // The client asks every 5 minutes at the latest.
    assert!((12..=60).contains(&asked), "{asked}");
}

fn assert_gaps_of_at_least(least: Duration, times: &[Duration]) {
    let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| *gap >= least), "{gaps:?}");
}
