//! The dialects in which servers say that a session is gone, and the words that only sound like it.

use futures_util::future::{BoxFuture, join_all};
use ridethrough::Client;
use ridethrough::error::Kind;
use ridethrough::event::{Event, Seen};
use ridethrough_lab::{Ask, Protocol, Times, When};
use serde_json::json;

use crate::gate::Gate;
use crate::hook::{Asked, Hook};
use crate::rig::{Rig, call, millis, params};

on_every_carrier! {
    async fn a_404_or_410_is_a_lost_session_whatever_its_body_says(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();

        for status in [404, 410] {
            for body in ["", "<html>nothing here</html>", "{}", r#"{"error":"gone"}"#] {
                rig.mcp.lost_session(status, body);
                let renewed = renewals_of_one_loss(&rig, &client).await;
                assert_eq!(renewed, 1, "{status} {body}");
            }
        }
    }

    async fn every_recorded_body_is_recognised_under_400_401_409_and_503(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();

        for status in [400, 401, 409, 503] {
            for words in recorded() {
                for body in [words.to_owned(), error_without_id(words)] {
                    rig.mcp.lost_session(status, body.clone());
                    let renewed = renewals_of_one_loss(&rig, &client).await;
                    assert_eq!(renewed, 1, "{status} {body}");
                }
            }
        }
    }

    async fn the_words_of_a_lost_session_count_whatever_code_they_come_with(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();

        for (number, code) in [-32600, -32601, -32602, -32000, -32001, 1].into_iter().enumerate() {
            for when in [When::tool("deploy"), When::method("ping")] {
                rig.mcp.rule(when, Times::Once, move |ask| async move {
                    let error = ask.error(code, "Invalid params: Invalid or expired session");
                    ask.status(400, &[JSON], error).await;
                });
            }

            call(&client, "deploy", "a").await.unwrap();

            assert_eq!(rig.count(When::method("initialize")), number + 2, "{code}");
        }
    }

    async fn a_retry_after_outranks_the_words_of_a_lost_session(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();
        answer_once(&rig, "deploy", 503, &[("retry-after", "3600")], "session expired");

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(error.call().unwrap().kind, Kind::Interrupted);
        assert!(error.may_have_run());
        assert_eq!(rig.count(When::method("initialize")), 1);
    }

    async fn a_server_without_session_ids_loses_a_session_by_words(rig: Rig) {
        rig.mcp.issue_sessions(false);
        let client = rig.client();
        client.connect().await.unwrap();
        answer_once(&rig, "deploy", 400, &[], "Bad Request: Server not initialized");
        rig.mcp.rule(When::method("tools/list"), Times::Once, |ask| {
            ask.status(400, &[], "Bad Request: Server not initialized")
        });

        call(&client, "deploy", "a").await.unwrap();

        assert_eq!(rig.count(When::method("initialize")), 2);
        assert_eq!(rig.mcp.executions("deploy"), 1);
    }

    async fn a_server_without_session_ids_does_not_lose_a_session_by_404(rig: Rig) {
        rig.mcp.issue_sessions(false);
        let client = rig.client();
        client.connect().await.unwrap();
        answer_once(&rig, "deploy", 404, &[], "");

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(error.call().unwrap().kind, Kind::Rejected { status: 404 });
        assert_left_alone(&rig, &client).await;
    }

    async fn other_words_in_an_error_are_the_answer_and_leave_the_session_alone(rig: Rig) {
        for status in [200, 400, 409, 500, 503] {
            for words in unrelated() {
                let rig = Rig::over(rig.server.protocol());
                let client = rig.client();
                rig.mcp.rule(When::tool("deploy"), Times::Once, move |ask| async move {
                    let error = ask.error(-32000, words);
                    ask.status(status, &[JSON], error).await;
                });

                let error = call(&client, "deploy", "a").await.unwrap_err();

                let answer = &error.server().unwrap_or_else(|| panic!("{status} {error}")).rpc;
                assert_eq!((answer.code, &*answer.message), (-32000, words));
                assert_left_alone(&rig, &client).await;
            }
        }
    }

    async fn other_words_in_a_page_leave_the_session_alone(rig: Rig) {
        for (status, kind) in [
            (400, Kind::Rejected { status: 400 }),
            (401, Kind::Unauthorized),
            (403, Kind::Rejected { status: 403 }),
            (409, Kind::Rejected { status: 409 }),
            (503, Kind::Interrupted),
        ] {
            for words in unrelated() {
                let rig = Rig::over(rig.server.protocol());
                let client = rig.client();
                answer_once(&rig, "deploy", status, &[], words);

                let error = call(&client, "deploy", "a").await.unwrap_err();

                assert_eq!(error.call().map(|it| it.kind), Some(kind), "{status} {words}");
                assert_left_alone(&rig, &client).await;
            }
        }
    }

    async fn no_such_method_and_wrong_params_are_answers_even_under_404(rig: Rig) {
        let client = rig.client();
        for code in [-32601, -32602] {
            rig.mcp.rule(When::tool("deploy"), Times::Once, move |ask| async move {
                let error = ask.error(code, "Unknown tool");
                ask.status(404, &[JSON], error).await;
            });

            let error = call(&client, "deploy", "a").await.unwrap_err();

            assert_eq!(error.server().unwrap().rpc.code, code);
            assert_left_alone(&rig, &client).await;
        }
    }

    async fn a_401_with_a_challenge_is_about_credentials_whatever_its_words(rig: Rig) {
        let hook = Hook::brings(&["old", "new"]);
        let client = rig.builder().credentials(hook.clone()).build().unwrap();
        client.connect().await.unwrap();
        answer_once(&rig, "deploy", 401, &[("www-authenticate", "Bearer")], "session expired");

        call(&client, "deploy", "a").await.unwrap();

        assert_eq!(hook.asked(), [Asked::First, Asked::instead_of("old")]);
        assert_left_alone(&rig, &client).await;
    }

    async fn the_inside_of_a_tools_result_is_never_read_for_a_lost_session(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let content = json!([{ "type": "text", "text": "Salesforce session expired" }]);
            let result = ask.result(json!({ "isError": true, "content": content }));
            ask.json(result).await;
        });
        let client = rig.client();

        let result = call(&client, "deploy", "a").await.unwrap();

        assert!(result.as_str().contains("Salesforce session expired"));
        assert_eq!(rig.count(When::method("ping")), 0);
        assert_left_alone(&rig, &client).await;
    }

    async fn the_words_of_a_lost_session_later_on_a_stream_are_simply_the_answer(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let error = json!({ "code": -32000, "message": "Session expired" });
            let answer = json!({ "jsonrpc": "2.0", "id": ask.id(), "error": error });
            let mut sse = ask.sse().await;
            sse.message(None, &json!({ "jsonrpc": "2.0", "method": "notifications/message" })).await;
            sse.event_and_finish(None, &answer.to_string()).await;
        });
        let client = rig.client();

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(error.server().unwrap().rpc.message, "Session expired");
        assert_eq!(rig.count(When::method("ping")), 0);
        assert_left_alone(&rig, &client).await;
    }

    async fn a_cancelled_call_costs_no_session_whatever_the_server_says_to_it(rig: Rig) {
        let (client, gate) = (rig.client(), Gate::closed());
        client.connect().await.unwrap();
        let held = gate.clone();
        rig.mcp.rule(When::tool("deploy"), Times::Once, move |ask| {
            let held = held.clone();
            async move {
                held.pass().await;
                ask.status(404, &[], "session expired").await;
            }
        });
        let cancelled = When::notification("notifications/cancelled");
        rig.mcp.rule(cancelled.clone(), Times::Once, |ask| ask.status(404, &[], "session expired"));
        let pending = client.request("tools/call", params("deploy", "a")).answer();
        settle().await;

        drop(pending);
        settle().await;
        gate.open();
        settle().await;
        call(&client, "echo", "b").await.unwrap();

        assert_eq!(rig.count(cancelled), 1);
        assert_left_alone(&rig, &client).await;
    }

    async fn the_words_of_a_lost_session_under_200_pass_through_if_a_ping_is_answered(rig: Rig) {
        for speak in [speak_in_json as Speak, speak_on_a_stream] {
            let rig = Rig::over(rig.server.protocol());
            rig.mcp.rule(When::tool("deploy"), Times::Once, speak);
            let client = rig.client();

            let error = call(&client, "deploy", "a").await.unwrap_err();

            assert_eq!(error.server().unwrap().rpc.message, "Salesforce session expired");
            assert_eq!(rig.count(When::method("ping").and(When::session("lab-session-1"))), 1);
            assert_eq!(rig.count(When::tool("deploy")), 1);
            assert_left_alone(&rig, &client).await;
        }
    }

    async fn the_words_of_a_lost_session_under_200_renew_it_if_a_ping_finds_it_lost(rig: Rig) {
        for speak in [speak_in_json as Speak, speak_on_a_stream] {
            let rig = Rig::over(rig.server.protocol());
            for lost in [When::tool("deploy"), When::method("ping")] {
                rig.mcp.rule(lost.and(When::session("lab-session-1")), Times::Always, speak);
            }
            let client = rig.client();
            client.connect().await.unwrap();
            rig.mcp.forget_sessions();

            let result = call(&client, "deploy", "a").await;

            assert!(result.is_ok(), "{result:?}");
            assert_eq!(rig.count(When::method("ping").and(When::session("lab-session-1"))), 1);
            assert_eq!(rig.count(When::method("initialize")), 2);
            assert_eq!(rig.mcp.executions("deploy"), 1);
        }
    }

    async fn one_ping_decides_for_all_calls_that_suspect_their_session(rig: Rig) {
        let gate = Gate::closed();
        let held = gate.clone();
        rig.mcp.rule(When::method("ping"), Times::Always, move |ask| {
            let held = held.clone();
            async move {
                held.pass().await;
                speak_in_json(ask).await;
            }
        });
        let lost = When::tool("deploy").and(When::session("lab-session-1"));
        rig.mcp.rule(lost, Times::Always, speak_in_json);
        let client = rig.client();
        client.connect().await.unwrap();
        rig.mcp.forget_sessions();

        let suspecting = async {
            settle().await;
            assert_eq!(rig.count(When::tool("deploy")), 20, "all of them suspect it");
            gate.open();
        };
        let calls = join_all((0..20).map(|_| call(&client, "deploy", "a")));
        let (results, ()) = tokio::join!(calls, suspecting);

        assert!(results.iter().all(Result::is_ok));
        assert_eq!(rig.count(When::method("ping")), 1);
        assert_eq!(rig.count(When::method("initialize")), 2);
        assert_eq!(rig.mcp.executions("deploy"), 20);
    }

    async fn an_undecided_ping_lets_the_error_pass_through(rig: Rig) {
        for status in [401, 500, 502] {
            let rig = Rig::over(rig.server.protocol());
            rig.mcp.rule(When::tool("deploy"), Times::Once, speak_in_json);
            rig.mcp.rule(When::method("ping"), Times::Once, move |ask| ask.status(status, &[], ""));
            let client = rig.client();

            let error = call(&client, "deploy", "a").await.unwrap_err();

            assert_eq!(error.server().unwrap().rpc.message, "Salesforce session expired", "{status}");
            assert_left_alone(&rig, &client).await;
        }
    }

    async fn a_session_is_told_to_be_lost_once_however_it_was_said(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();
        rig.mcp.lost_session(400, "unknown session: 8f14");
        rig.mcp.forget_sessions();
        let mut events = client.events();

        for result in join_all((0..20).map(|_| call(&client, "deploy", "a"))).await {
            result.unwrap();
        }

        let seen = std::iter::from_fn(|| events.try_next());
        let losses = seen.filter(is_loss).count();
        assert_eq!(losses, 1);
    }
}

/// Returns the words that real servers have used for it.
fn recorded() -> impl Iterator<Item = &'static str> {
    include_str!("../../../core/tests/dialects/recorded.txt").lines()
}

/// Returns words that mean something else.
fn unrelated() -> impl Iterator<Item = &'static str> {
    include_str!("../../../core/tests/dialects/unrelated.txt").lines()
}

const JSON: (&str, &str) = ("content-type", "application/json");

/// Loses the session, calls, and returns how many handshakes that took. The call must succeed.
async fn renewals_of_one_loss(rig: &Rig, client: &Client) -> usize {
    let before = rig.count(When::method("initialize"));
    let runs = rig.mcp.executions("deploy");
    rig.mcp.forget_sessions();
    call(client, "deploy", "a").await.unwrap();
    assert_eq!(rig.mcp.executions("deploy"), runs + 1);
    rig.count(When::method("initialize")) - before
}

/// Checks that the first session is in force: it serves the next call, and no other was requested.
async fn assert_left_alone(rig: &Rig, client: &Client) {
    call(client, "echo", "after").await.unwrap();
    assert_eq!(rig.count(When::method("initialize")), 1);
}

fn answer_once(
    rig: &Rig,
    tool: &str,
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
) {
    let answer = move |ask: Ask| ask.status(status, headers, body);
    rig.mcp.rule(When::tool(tool), Times::Once, answer);
}

fn error_without_id(words: &str) -> String {
    let error = json!({ "code": -32000, "message": words });
    json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string()
}

/// A rule that answers 200 with the words of a lost session, which may be another session than ours.
type Speak = fn(Ask) -> BoxFuture<'static, ()>;

fn speak_in_json(ask: Ask) -> BoxFuture<'static, ()> {
    let error = ask.error(-32000, "Salesforce session expired");
    Box::pin(ask.json(error))
}

fn speak_on_a_stream(ask: Ask) -> BoxFuture<'static, ()> {
    Box::pin(async {
        let error = String::from_utf8(ask.error(-32000, "Salesforce session expired").to_vec());
        ask.sse().await.event_and_finish(None, &error.unwrap()).await;
    })
}

fn is_loss(seen: &Seen) -> bool {
    matches!(seen, Seen::Event { event: Event::SessionLost { .. }, .. })
}

/// Lets everything happen that needs no further step of the test.
async fn settle() {
    tokio::time::sleep(millis(1)).await;
}
