//! Refusals that pass: a busy server, a gateway without a backend, a refused standing stream.
//!
//! They make the call that meets them wait at most, or fail that call and no other.

use std::time::Duration;

use ridethrough::error::Kind;
use ridethrough::event::{Delivered, Inbox};
use ridethrough::{Error, Json};
use ridethrough_lab::{Ask, Protocol, Times, When};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::rig::{Rig, call, secs, text};

on_every_carrier! {
    async fn a_resume_answered_429_is_repeated_after_the_time_asked_for(rig: Rig) {
        assert_resumed_after_one_refusal(&rig, 429).await;
    }

    async fn a_resume_answered_500_is_repeated_after_the_time_asked_for(rig: Rig) {
        assert_resumed_after_one_refusal(&rig, 500).await;
    }

    async fn a_resume_answered_502_is_repeated_after_the_time_asked_for(rig: Rig) {
        assert_resumed_after_one_refusal(&rig, 502).await;
    }

    async fn a_resume_answered_503_is_repeated_after_the_time_asked_for(rig: Rig) {
        assert_resumed_after_one_refusal(&rig, 503).await;
    }

    async fn a_resume_answered_504_is_repeated_after_the_time_asked_for(rig: Rig) {
        assert_resumed_after_one_refusal(&rig, 504).await;
    }

    async fn a_call_survives_each_passing_refusal_of_its_resumes_in_turn(rig: Rig) {
        drops_the_first_stream(&rig);
        for status in [429, 500, 502, 503, 504] {
            refuse(&rig, When::resume(), Times::Once, status, &[]);
        }
        rig.mcp.rule(When::resume(), Times::Once, answers_on_a_resumed_stream);

        let result = call(&rig.client(), "deploy", "a").await;

        assert!(is_done(&result), "{result:?}");
        assert_eq!(rig.count(When::resume()), 6);
        assert_eq!(rig.mcp.executions("deploy"), 1);
    }

    async fn resumes_answered_503_for_ever_end_the_call_in_under_30_s(rig: Rig) {
        drops_the_first_stream(&rig);
        refuse(&rig, When::resume(), Times::Always, 503, &[]);
        let started = Instant::now();

        let error = call(&rig.client(), "deploy", "a").await.unwrap_err();

        assert_eq!(error.call().unwrap().kind, Kind::Exhausted);
        assert!(error.may_have_run());
        assert_eq!(rig.count(When::resume()), 8);
        assert!(started.elapsed() < secs(30), "{:?}", started.elapsed());
    }

    async fn the_next_call_works_after_resumes_were_answered_503_for_ever(rig: Rig) {
        drops_the_first_stream(&rig);
        refuse(&rig, When::resume(), Times::Always, 503, &[]);
        let client = rig.client();
        call(&client, "deploy", "a").await.unwrap_err();

        let next = call(&client, "echo", "b").await;

        assert!(next.is_ok(), "{next:?}");
        assert_eq!(rig.count(When::method("initialize")), 1);
    }

    async fn a_resume_answered_403_fails_its_call(rig: Rig) {
        drops_the_first_stream(&rig);
        refuse(&rig, When::resume(), Times::Always, 403, &[]);

        let error = call(&rig.client(), "deploy", "a").await.unwrap_err();

        assert_interrupted_by_its_resume(&rig, &error);
    }

    async fn the_next_call_works_after_a_resume_was_answered_403(rig: Rig) {
        drops_the_first_stream(&rig);
        refuse(&rig, When::resume(), Times::Always, 403, &[]);
        let client = rig.client();
        call(&client, "deploy", "a").await.unwrap_err();

        let next = call(&client, "echo", "b").await;

        assert!(next.is_ok(), "{next:?}");
        assert_eq!(rig.count(When::method("initialize")), 1);
    }

    async fn a_resume_answered_406_fails_its_call(rig: Rig) {
        drops_the_first_stream(&rig);
        rig.mcp.rule(When::resume(), Times::Always, is_not_acceptable);

        let error = call(&rig.client(), "deploy", "a").await.unwrap_err();

        assert_interrupted_by_its_resume(&rig, &error);
    }

    async fn the_next_call_works_after_a_resume_was_answered_406(rig: Rig) {
        drops_the_first_stream(&rig);
        rig.mcp.rule(When::resume(), Times::Always, is_not_acceptable);
        let client = rig.client();
        call(&client, "deploy", "a").await.unwrap_err();

        let next = call(&client, "echo", "b").await;

        assert!(next.is_ok(), "{next:?}");
        assert_eq!(rig.count(When::method("initialize")), 1);
    }

    async fn an_unsafe_call_answered_503_with_retry_after_is_sent_once_and_in_doubt(rig: Rig) {
        refuse(&rig, When::tool("deploy"), Times::Once, 503, &[("retry-after", "3")]);

        let error = call(&rig.client(), "deploy", "a").await.unwrap_err();

        assert!(error.may_have_run(), "{error:?}");
        assert_eq!(error.call().unwrap().retry_after, Some(secs(3)));
        assert_eq!(rig.count(When::tool("deploy")), 1);
    }

    async fn a_call_that_only_reads_is_not_sent_again_before_the_time_asked_for(rig: Rig) {
        refuse(&rig, When::method("tools/list"), Times::Once, 503, &[("retry-after", "3")]);

        rig.client().tools().await.unwrap();

        let times = rig.times(&When::method("tools/list"));
        assert_eq!(times.len(), 2);
        assert!(times[1] - times[0] >= secs(3), "{times:?}");
    }

    async fn a_503_that_says_of_the_call_that_nothing_ran_is_waited_out(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| {
            let id = ask.id();
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"full","data":{{"mayHaveRun":false}}}}}}"#);
            ask.status(503, &[("retry-after", "3"), ("content-type", "application/json")], body)
        });

        let result = call(&rig.client(), "deploy", "a").await;

        assert!(result.is_ok(), "{result:?}");
        let times = rig.times(&When::tool("deploy"));
        assert!(times[1] - times[0] >= secs(3), "{times:?}");
        assert_eq!(rig.mcp.executions_of("deploy", "a"), 1);
    }

    async fn an_unsafe_call_answered_by_a_bare_503_is_interrupted_and_sent_once(rig: Rig) {
        assert_interrupted_and_sent_once(&rig, "deploy", 503).await;
    }

    async fn an_unsafe_call_answered_502_is_interrupted_and_sent_once(rig: Rig) {
        assert_interrupted_and_sent_once(&rig, "deploy", 502).await;
    }

    // The client never asked for the annotations of the tools, and must not guess.
    async fn a_tool_that_nobody_knows_to_be_read_only_is_sent_once(rig: Rig) {
        assert_interrupted_and_sent_once(&rig, "read", 503).await;
    }

    async fn a_tool_known_to_be_read_only_is_sent_again_after_a_bare_503(rig: Rig) {
        assert_sent_again_once_listed(&rig, 503).await;
    }

    async fn a_tool_known_to_be_read_only_is_sent_again_after_a_502(rig: Rig) {
        assert_sent_again_once_listed(&rig, 502).await;
    }

    async fn calls_do_not_notice_a_standing_stream_answered_503(rig: Rig) {
        refuse(&rig, When::listen(), Times::Always, 503, &[]);

        assert_calls_are_untouched(&rig).await;
    }

    async fn a_standing_stream_answered_503_comes_back_and_brings_news(rig: Rig) {
        refuse(&rig, When::listen(), Times::Once, 503, &[("retry-after", "7")]);

        assert_news_after_it_came_back(&rig).await;
        assert_pause_before_the_second(&rig, When::listen(), secs(7));
    }

    async fn calls_do_not_notice_a_standing_stream_answered_429(rig: Rig) {
        refuse(&rig, When::listen(), Times::Always, 429, &[("retry-after", "1")]);

        assert_calls_are_untouched(&rig).await;
    }

    async fn a_standing_stream_answered_429_comes_back_and_brings_news(rig: Rig) {
        refuse(&rig, When::listen(), Times::Once, 429, &[("retry-after", "7")]);

        assert_news_after_it_came_back(&rig).await;
        assert_pause_before_the_second(&rig, When::listen(), secs(7));
    }

    async fn calls_do_not_notice_a_standing_stream_answered_405(rig: Rig) {
        refuse(&rig, When::listen(), Times::Always, 405, &[]);

        assert_calls_are_untouched(&rig).await;
    }

    async fn a_standing_stream_answered_405_is_not_asked_for_again(rig: Rig) {
        refuse(&rig, When::listen(), Times::Always, 405, &[]);

        assert_asked_for_once_in_an_hour(&rig).await;
    }

    async fn calls_do_not_notice_a_standing_stream_answered_404(rig: Rig) {
        refuse(&rig, When::listen(), Times::Always, 404, &[]);

        assert_calls_are_untouched(&rig).await;
    }

    async fn a_standing_stream_answered_404_at_first_is_not_asked_for_again(rig: Rig) {
        refuse(&rig, When::listen(), Times::Always, 404, &[]);

        assert_asked_for_once_in_an_hour(&rig).await;
    }

    // There was a standing stream before, so this server has one; and its session is alive.
    async fn a_standing_stream_answered_404_later_comes_back_and_brings_news(rig: Rig) {
        rig.mcp.rule(When::listen(), Times::Once, |ask| async { ask.sse().await.finish().await });
        refuse(&rig, When::listen(), Times::Once, 404, &[]);

        assert_news_after_it_came_back(&rig).await;
        assert_eq!(rig.count(When::method("initialize")), 1);
    }

    async fn calls_do_not_notice_a_standing_stream_answered_409(rig: Rig) {
        refuse(&rig, When::listen(), Times::Always, 409, &[]);

        assert_calls_are_untouched(&rig).await;
    }

    async fn a_standing_stream_answered_409_comes_back_and_brings_news(rig: Rig) {
        refuse(&rig, When::listen(), Times::Once, 409, &[]);

        assert_news_after_it_came_back(&rig).await;
    }

    async fn calls_do_not_notice_a_standing_stream_that_is_reset(rig: Rig) {
        rig.mcp.rule(When::listen(), Times::Always, |ask| async { ask.reply().1.reset() });

        assert_calls_are_untouched(&rig).await;
    }

    async fn a_standing_stream_that_is_reset_comes_back_and_brings_news(rig: Rig) {
        rig.mcp.rule(When::listen(), Times::Once, |ask| async { ask.reply().1.reset() });

        assert_news_after_it_came_back(&rig).await;
    }

    async fn a_standing_stream_whose_connection_is_reset_comes_back_and_brings_news(rig: Rig) {
        rig.mcp.rule(When::listen(), Times::Once, |ask| async {
            let sse = ask.sse().await;
            tokio::time::sleep(secs(30)).await;
            sse.drop_connection();
        });

        assert_news_after_it_came_back(&rig).await;
    }
}

/// Makes the server drop the stream of `deploy` after an id, which names the request, while the tool runs.
fn drops_the_first_stream(rig: &Rig) {
    rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        ask.run();
        let request = ask.id().to_string();
        let mut sse = ask.sse().await;
        sse.prime(&request).await;
        sse.finish().await;
    });
}

async fn answers_on_a_resumed_stream(ask: Ask) {
    let request: Value = ask.entry.last_event_id.as_ref().unwrap().parse().unwrap();
    let answer = json!({ "jsonrpc": "2.0", "id": request, "result": text("done") });
    ask.sse().await.event_and_finish(None, &answer.to_string()).await;
}

/// Answers as the TypeScript SDK does to a GET that does not accept what it should.
async fn is_not_acceptable(ask: Ask) {
    let error = ask.error(-32000, "Not Acceptable: Client must accept text/event-stream");
    ask.status(406, &[("content-type", "application/json")], error).await;
}

fn refuse(
    rig: &Rig,
    when: When,
    times: Times,
    status: u16,
    headers: &'static [(&'static str, &'static str)],
) {
    rig.mcp.rule(when, times, move |ask| ask.status(status, headers, ""));
}

fn is_done(result: &Result<Json, Error>) -> bool {
    result.as_ref().is_ok_and(|result| result.as_str().contains("done"))
}

async fn assert_resumed_after_one_refusal(rig: &Rig, status: u16) {
    drops_the_first_stream(rig);
    refuse(rig, When::resume(), Times::Once, status, &[("retry-after", "3")]);
    rig.mcp.rule(When::resume(), Times::Once, answers_on_a_resumed_stream);

    let result = call(&rig.client(), "deploy", "a").await;

    assert!(is_done(&result), "{result:?}");
    assert_eq!(rig.mcp.executions("deploy"), 1);
    assert_pause_before_the_second(rig, When::resume(), secs(3));
}

fn assert_pause_before_the_second(rig: &Rig, when: When, least: Duration) {
    let times = rig.times(&when);
    assert_eq!(times.len(), 2, "{times:?}");
    assert!(times[1] - times[0] >= least, "{times:?}");
}

fn assert_interrupted_by_its_resume(rig: &Rig, error: &Error) {
    assert_eq!(error.call().unwrap().kind, Kind::Interrupted);
    assert!(error.may_have_run());
    assert_eq!(rig.count(When::resume()), 1);
    assert_eq!(rig.count(When::tool("deploy")), 1);
}

async fn assert_interrupted_and_sent_once(rig: &Rig, tool: &str, status: u16) {
    refuse(rig, When::tool(tool), Times::Once, status, &[]);
    let client = rig.client();

    let error = call(&client, tool, "a").await.unwrap_err();
    tokio::time::sleep(secs(3600)).await;

    assert_eq!(error.call().unwrap().kind, Kind::Interrupted);
    assert!(error.may_have_run());
    assert_eq!(rig.count(When::tool(tool)), 1);
}

async fn assert_sent_again_once_listed(rig: &Rig, status: u16) {
    refuse(rig, When::tool("read"), Times::Once, status, &[]);
    let client = rig.client();
    client.request("tools/list", ()).await.unwrap();

    let result = call(&client, "read", "a").await;

    assert!(result.is_ok(), "{result:?}");
    assert_eq!(rig.count(When::tool("read")), 2);
}

/// Checks that calls are unaffected while the standing stream fails, short ones and one that runs all the
/// time: each is sent once, in one session, and takes no longer than the server does.
async fn assert_calls_are_untouched(rig: &Rig) {
    rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        tokio::time::sleep(secs(20)).await;
        ask.pass().await;
    });
    let client = rig.client();
    let started = Instant::now();

    let short_ones = async {
        for _ in 0..19 {
            let asked = Instant::now();
            call(&client, "echo", "a").await.unwrap();
            assert_eq!(asked.elapsed(), Duration::ZERO);
            tokio::time::sleep(secs(1)).await;
        }
    };
    let (long, ()) = tokio::join!(call(&client, "deploy", "a"), short_ones);

    assert!(long.is_ok(), "{long:?}");
    assert_eq!(started.elapsed(), secs(20));
    assert_eq!((rig.count(When::tool("echo")), rig.count(When::tool("deploy"))), (19, 1));
    assert_eq!(rig.count(When::method("initialize")), 1);
    assert!(rig.count(When::listen()) > 0);
}

async fn assert_asked_for_once_in_an_hour(rig: &Rig) {
    let client = rig.client();
    call(&client, "echo", "a").await.unwrap();

    tokio::time::sleep(secs(3600)).await;

    assert!(call(&client, "echo", "b").await.is_ok());
    assert_eq!(rig.count(When::listen()), 1);
}

/// Checks that what the server sends once the standing stream is back, after a minute, reaches the inbox.
async fn assert_news_after_it_came_back(rig: &Rig) {
    let client = rig.client();
    let mut inbox = client.inbox();
    client.connect().await.unwrap();

    tokio::time::sleep(secs(60)).await;
    let change = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    let told = rig.mcp.push(change).await;

    assert_eq!(told, 1);
    assert_eq!(next_notification(&mut inbox).await, "notifications/tools/list_changed");
    assert!(call(&client, "echo", "a").await.is_ok());
}

async fn next_notification(inbox: &mut Inbox) -> String {
    match timeout(secs(1), inbox.next()).await {
        Ok(Some(Delivered::Notification { method, .. })) => method.into(),
        other => panic!("{other:?}"),
    }
}
