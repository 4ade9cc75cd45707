//! Calls without faults.

use ridethrough::Json;
use ridethrough::error::Kind;
use ridethrough::event::{Answer, Delivered};
use ridethrough::server::Version;
use ridethrough_lab::{Protocol, Style, Times, When};
use serde_json::json;

use crate::rig::{Rig, call, secs, text};

on_every_carrier! {
    async fn a_call_is_answered(rig: Rig) {
        let client = rig.client();

        let result = call(&client, "echo", "a").await.unwrap();

        assert!(result.as_str().contains("key"), "{}", result.as_str());
        assert_eq!(rig.mcp.executions("echo"), 1);
        assert_eq!(rig.count(When::method("initialize")), 1);
    }

    async fn connect_says_what_the_server_is(rig: Rig) {
        let client = rig.client();

        let server = client.connect().await.unwrap();

        assert_eq!(server.version, Version::V2025_11_25);
        assert!(server.result.as_str().contains("serverInfo"));
        assert_eq!(client.status().await.unwrap().version, Some(Version::V2025_11_25));
    }

    async fn an_older_revision_is_offered_on_request_and_again_after_a_lost_session(rig: Rig) {
        let client = rig.builder().revision(Version::V2025_06_18).build().unwrap();
        client.connect().await.unwrap();
        rig.mcp.forget_sessions();

        call(&client, "echo", "a").await.unwrap();

        assert_eq!(rig.count(When::method("initialize")), 2);
        assert_eq!(client.status().await.unwrap().version, Some(Version::V2025_06_18));
    }

    async fn close_gives_the_session_back_and_later_calls_say_so(rig: Rig) {
        let client = rig.client();
        call(&client, "echo", "a").await.unwrap();

        client.close().await;
        let error = call(&client, "echo", "b").await.unwrap_err();

        assert_eq!(rig.count(When::delete()), 1);
        assert_eq!(error.call().unwrap().kind, Kind::Closed);
        assert!(!error.may_have_run());
        client.close().await;
    }

    async fn whoever_reads_or_watches_learns_that_the_client_is_closed(rig: Rig) {
        let client = rig.client();
        let (mut inbox, mut events) = (client.inbox(), client.events());
        client.connect().await.unwrap();

        client.close().await;

        let reading = async { while inbox.next().await.is_some() {} };
        let watching = async { while events.next().await.is_some() {} };
        tokio::time::timeout(secs(1), async { tokio::join!(reading, watching) }).await.unwrap();
        assert!(client.events().next().await.is_none());
        assert!(client.inbox().next().await.is_none());
    }

    async fn whoever_watches_learns_that_the_client_is_gone_also_beside_an_inbox(rig: Rig) {
        let client = rig.client();
        let (_inbox, mut events) = (client.inbox(), client.events());
        client.connect().await.unwrap();

        drop(client);

        let watching = async { while events.next().await.is_some() {} };
        tokio::time::timeout(secs(1), watching).await.unwrap();
    }

    async fn dropping_the_client_closes_its_connections(rig: Rig) {
        let client = rig.client();
        call(&client, "echo", "a").await.unwrap();
        assert!(rig.server.open_connections() > 0);

        drop(client);
        tokio::time::sleep(secs(1)).await;

        assert_eq!(rig.server.open_connections(), 0);
    }

    async fn dropping_a_call_cancels_it(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
            let (_, reply) = ask.reply();
            reply.hold().await;
        });
        let client = rig.client();

        let _ = tokio::time::timeout(secs(1), call(&client, "deploy", "a")).await.unwrap_err();
        tokio::time::sleep(secs(1)).await;

        assert_eq!(rig.count(When::notification("notifications/cancelled")), 1);
        assert!(call(&client, "echo", "b").await.is_ok());
    }

    async fn an_error_of_the_server_is_an_answer(rig: Rig) {
        let client = rig.client();

        let error = client.request("no/such/method", ()).await.unwrap_err();
        let answer = client.request("no/such/method", ()).answer().await.unwrap();

        assert_eq!(error.server().unwrap().rpc.code, -32601);
        assert!(matches!(answer, Answer::Error(_)));
    }

    async fn questions_and_notifications_reach_the_inbox_and_answers_the_server(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let mut sse = ask.sse().await;
            sse.message(None, &json!({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}})).await;
            sse.message(None, &json!({"jsonrpc":"2.0","id":"q","method":"roots/list"})).await;
            tokio::time::sleep(secs(5)).await;
            sse.answer_and_finish(text("done")).await;
        });
        let client = rig.client();
        let mut inbox = client.inbox();

        let answering = async {
            let mut notifications = 0;
            loop {
                match inbox.next().await.unwrap() {
                    Delivered::Notification { .. } => notifications += 1,
                    Delivered::Question { question, method, .. } => {
                        assert_eq!(&*method, "roots/list");
                        let roots = Json::new(r#"{"roots":[]}"#).unwrap();
                        inbox.answer(question, Answer::Result(roots));
                        return notifications;
                    }
                    Delivered::Withdrawn { .. } => panic!("nobody took it back"),
                }
            }
        };
        let (result, notifications) = tokio::join!(call(&client, "deploy", "a"), answering);

        assert!(result.is_ok());
        assert_eq!(notifications, 1);
        let answers: Vec<_> =
            rig.mcp.log().into_iter().filter(|entry| When::response().holds(entry)).collect();
        assert_eq!(answers.len(), 1);
        assert_eq!(&answers[0].body[..], br#"{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}"#);
    }

    async fn questions_in_an_inbox_that_is_dropped_are_refused(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let mcp = ask.mcp().clone();
            let mut sse = ask.sse().await;
            sse.message(None, &json!({"jsonrpc":"2.0","id":"q","method":"roots/list"})).await;
            while mcp.count(&When::response()) == 0 {
                sse.comment("waiting for the client").await;
                tokio::time::sleep(secs(1)).await;
            }
            sse.answer_and_finish(text("done")).await;
        });
        let client = rig.client();
        let inbox = client.inbox();
        let dropping = async {
            tokio::time::sleep(secs(3)).await;
            drop(inbox);
        };

        let (result, ()) = tokio::join!(call(&client, "deploy", "a"), dropping);

        assert!(result.is_ok());
    }

    async fn a_closed_client_holds_no_connection(rig: Rig) {
        let client = rig.client();
        call(&client, "echo", "a").await.unwrap();

        client.close().await;
        tokio::time::sleep(secs(1)).await;

        assert_eq!(rig.server.open_connections(), 0);
    }

    async fn a_question_nobody_answers_is_refused(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let mut sse = ask.sse().await;
            sse.message(None, &json!({"jsonrpc":"2.0","id":"q","method":"roots/list"})).await;
            tokio::time::sleep(secs(5)).await;
            sse.answer_and_finish(text("done")).await;
        });
        let client = rig.client();

        call(&client, "deploy", "a").await.unwrap();

        let log = rig.mcp.log();
        let answer = log.iter().find(|entry| When::response().holds(entry)).unwrap();
        assert!(String::from_utf8_lossy(&answer.body).contains("-32601"));
    }

    async fn progress_reaches_the_call_that_asked_for_it(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let token = ask.params()["_meta"]["progressToken"].clone();
            let mut sse = ask.sse().await;
            for progress in 1..=3 {
                let params = json!({ "progressToken": token, "progress": progress });
                sse.message(None, &json!({"jsonrpc":"2.0","method":"notifications/progress","params":params})).await;
            }
            sse.answer_and_finish(text("done")).await;
        });
        let client = rig.client();
        let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));

        let listener = seen.clone();
        client
            .request("tools/call", crate::rig::params("deploy", "a"))
            .on_progress(move |params| listener.lock().unwrap().push(params.json.as_str().to_owned()))
            .await
            .unwrap();

        assert_eq!(seen.lock().unwrap().len(), 3);
    }

    async fn a_callers_own_progress_token_comes_back_to_it(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let token = ask.params()["_meta"]["progressToken"].clone();
            let mut sse = ask.sse().await;
            let params = json!({ "progressToken": token, "progress": 1 });
            sse.message(None, &json!({"jsonrpc":"2.0","method":"notifications/progress","params":params})).await;
            sse.answer_and_finish(text("done")).await;
        });
        let client = rig.client();
        let mut inbox = client.inbox();
        let mut params = crate::rig::params("deploy", "a");
        params["_meta"] = json!({ "progressToken": "mine" });

        client.request("tools/call", params).await.unwrap();

        let Some(Delivered::Notification { params: Some(params), .. }) = inbox.next().await else {
            panic!("the progress should be there")
        };
        assert!(params.as_str().contains(r#""progressToken":"mine""#), "{}", params.as_str());
    }

    async fn who_we_are_can_be_said_anew_before_the_next_handshake(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();

        client.set_identity(ridethrough::server::Identity {
            info: Json::new(r#"{"name":"host","version":"9"}"#).unwrap(),
            capabilities: Json::new(r#"{"roots":{}}"#).unwrap(),
        });
        rig.mcp.forget_sessions();
        call(&client, "echo", "a").await.unwrap();

        let log = rig.mcp.log();
        let said: Vec<_> = log.iter().filter(|it| When::method("initialize").holds(it)).collect();
        assert!(String::from_utf8_lossy(&said[0].body).contains(r#""name":"ridethrough""#));
        let second = String::from_utf8_lossy(&said[1].body);
        assert!(second.contains(r#""name":"host""#) && second.contains(r#""roots":{}"#), "{second}");
    }

    async fn params_and_results_pass_byte_for_byte(rig: Rig) {
        const ODD: &str = r#"{"big":123456789012345678901234567890,"n":1.10,"e":1E2,"z":{"b":1,"a":2,"b":3},"u":"\u00e9\ud83d\ude00 é"}"#;
        rig.mcp.rule(When::method("x/odd"), Times::Once, |ask| async {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{ODD}}}"#, ask.id());
            ask.json(body).await;
        });
        let client = rig.client();

        let result = client.request("x/odd", Json::new(ODD).unwrap()).await.unwrap();

        assert_eq!(result.as_str(), ODD);
        let log = rig.mcp.log();
        let asked = log.iter().find(|it| When::method("x/odd").holds(it)).unwrap();
        assert!(String::from_utf8_lossy(&asked.body).contains(ODD));
    }

    async fn a_client_that_stays_connected_makes_its_session_without_a_call_and_makes_it_anew(rig: Rig) {
        let client = rig.client();

        client.keep_connected();
        tokio::time::sleep(secs(1)).await;
        let before = (rig.count(When::method("initialize")), rig.mcp.standing_streams());
        rig.server.kill().await;
        rig.mcp.forget_sessions();
        tokio::time::sleep(secs(2)).await;
        rig.server.restart().await.unwrap();
        tokio::time::sleep(secs(10)).await;

        assert_eq!(before, (1, 1));
        assert_eq!(rig.count(When::method("initialize")), 2);
        assert_eq!(rig.mcp.standing_streams(), 1);
    }

    async fn a_notification_reaches_the_server(rig: Rig) {
        let client = rig.client();

        client.notify("notifications/roots/list_changed", json!({ "a": 1 })).await.unwrap();

        let log = rig.mcp.log();
        let when = When::notification("notifications/roots/list_changed");
        let told = log.iter().find(|entry| when.holds(entry)).unwrap();
        assert!(String::from_utf8_lossy(&told.body).contains(r#""params":{"a":1}"#));
    }

    async fn a_result_is_read_as_the_callers_own_type(rig: Rig) {
        #[derive(serde::Deserialize)]
        struct Tools {
            tools: Vec<serde_json::Value>,
        }

        let client = rig.client();

        let tools: Tools = client.request("tools/list", ()).typed().await.unwrap();
        let wrong = client.request("tools/list", ()).typed::<Vec<u8>>().await.unwrap_err();

        assert!(!tools.tools.is_empty());
        let ridethrough::Error::Answer { result, .. } = wrong else { panic!("{wrong}") };
        assert!(result.as_str().contains("tools"), "what was sent is not lost");
    }

    async fn a_call_that_the_caller_marked_repeatable_is_sent_again(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            ask.run();
            ask.status(502, &[], "").await;
        });
        let client = rig.client();

        let call = client.request("tools/call", crate::rig::params("deploy", "a")).idempotent();
        call.await.unwrap();

        assert_eq!(rig.mcp.executions("deploy"), 2);
    }

    async fn closing_takes_5_s_at_most_when_the_server_does_not_answer(rig: Rig) {
        rig.mcp.rule(When::delete(), Times::Always, |ask| async {
            let (_, reply) = ask.reply();
            reply.hold().await;
        });
        let client = rig.client();
        call(&client, "echo", "a").await.unwrap();
        let began = tokio::time::Instant::now();

        client.close().await;

        assert_eq!(rig.count(When::delete()), 1);
        assert_eq!(began.elapsed(), secs(5));
    }

    async fn sixty_four_calls_at_once_use_sixty_four_connections_beside_the_standing_stream(rig: Rig) {
        rig.mcp.answers(Style::Sse);
        let client = rig.client();
        client.connect().await.unwrap();

        for _ in 0..10 {
            let calls = (0..64).map(|_| call(&client, "echo", "a"));
            for result in futures_util::future::join_all(calls).await {
                result.unwrap();
            }
        }

        let most = if rig.is_http2() { 1 } else { 65 };
        assert!(rig.server.connections() <= most, "{}", rig.server.connections());
        assert_eq!(rig.mcp.executions("echo"), 640);
    }
}
