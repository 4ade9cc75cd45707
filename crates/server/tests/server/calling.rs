//! Stateless requests: what is refused before anything is run, and how calls are answered.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http_body_util::{BodyExt, Full};
use ridethrough_server::Settings;
use serde_json::{Value, json};

use crate::rig::{Rig, able, ask, by_another, call, post, request, with};

#[tokio::test(start_paused = true)]
async fn discovery_is_answered_from_what_the_backend_says_of_itself() {
    let mut rig = Rig::new();
    let discovered = rig.begin_to_send(ask("a", "server/discover", json!({})));
    let mut puppet = rig.puppet().await;

    puppet.greet(json!({"tools": {"listChanged": true}, "tasks": {"list": {}}})).await;
    let mut answer = discovered.await.unwrap();

    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("mcp-session-id"), None);
    assert_eq!(
        answer.json().await,
        json!({"jsonrpc": "2.0", "id": "a", "result": {
            "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
            "capabilities": {"tools": {"listChanged": true}},
            "instructions": "be kind",
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "puppet", "version": "1"}},
        }})
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_headers_are_not_what_its_body_says_runs_nothing() {
    let rig = Rig::new();
    let version = "mcp-protocol-version";
    let meta = |version: &str| json!({"io.modelcontextprotocol/protocolVersion": version});
    let body = |params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let request = with(post(&body.to_string()), version, Some("2026-07-28"));
        with(with(request, "mcp-method", Some("tools/call")), "mcp-name", Some("t"))
    };
    for (request, status, code) in [
        (with(call(1), "mcp-method", None), 400, -32020),
        (with(call(1), "mcp-method", Some("tools/list")), 400, -32020),
        (with(call(1), "mcp-method", Some("TOOLS/CALL")), 400, -32020),
        (with(call(1), "mcp-name", None), 400, -32020),
        (with(call(1), "mcp-name", Some("u")), 400, -32020),
        (with(call(1), "mcp-name", Some("=?base64?*?=")), 400, -32020),
        (with(call(1), version, None), 400, -32020),
        (with(call(1), version, Some("2025-11-25")), 400, -32020),
        (with(call(1), version, Some("2099-01-01")), 400, -32020),
        (body(json!({"name": "t"})), 400, -32602),
        (body(json!({"name": "t", "_meta": meta("2026-07-28")})), 400, -32602),
        (
            with(
                body(json!({"name": "t", "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2099-01-01",
                    "io.modelcontextprotocol/clientCapabilities": {}}})),
                version,
                Some("2099-01-01"),
            ),
            400,
            -32022,
        ),
        (with(body(json!({"name": "t"})), version, Some("2099-01-01")), 400, -32022),
        (ask(1, "initialize", json!({})), 404, -32601),
        (ask(1, "ping", json!({})), 404, -32601),
        (ask(1, "logging/setLevel", json!({})), 404, -32601),
        (ask(1, "resources/subscribe", json!({"uri": "a:b"})), 404, -32601),
        (ask(1, "tasks/get", json!({})), 404, -32601),
    ] {
        let told = format!("{request:?}");
        let mut answer = rig.send(request).await;

        let error = answer.json().await;
        assert_eq!(
            (answer.status.as_u16(), &error["error"]["code"]),
            (status, &json!(code)),
            "{told}"
        );
        assert_eq!(error["id"], 1, "{told}");
        if code == -32022 {
            assert_eq!(error["error"]["data"]["requested"], "2099-01-01");
            assert_eq!(error["error"]["data"]["supported"][0], "2026-07-28");
        }
    }
    assert_eq!(rig.opened().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_stateless_revision_has_post_alone_and_no_answers_from_clients() {
    let rig = Rig::new();
    for method in [Method::GET, Method::DELETE] {
        let request = with(request(method, ""), "mcp-protocol-version", Some("2026-07-28"));
        let answer = rig.send(request).await;
        assert_eq!((answer.status.as_u16(), answer.header("allow")), (405, Some("POST")));
    }
    for (body, status) in
        [(r#"{"id":1,"result":{}}"#, 400), (r#"{"method":"notifications/x"}"#, 202)]
    {
        let request = with(post(body), "mcp-protocol-version", Some("2026-07-28"));
        assert_eq!(rig.send(request).await.status, status, "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_passes_byte_for_byte_under_an_id_of_ours() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"x":1.10}"#;
    let body = format!(
        "{{\"id\":\"caller's\",\"method\":\"tools/call\",\"params\":{{\"name\":\"t\",\n \"z\":1.10,{meta}}}}}"
    );
    let request = with(post(&body), "mcp-protocol-version", Some("2026-07-28"));
    let request = with(with(request, "mcp-method", Some("tools/call")), "mcp-name", Some("t"));

    let answer = rig.begin_to_send(request);
    let heard = puppet.text().await;
    assert!(heard.ends_with(r#""params":{"name":"t",  "z":1.10,"_meta":{"x":1.10}}}"#), "{heard}");
    let id = serde_json::from_str::<Value>(&heard).unwrap()["id"].clone();
    puppet.say_text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"n":1.10,"n":2}}}}"#)).await;

    let text = answer.await.unwrap().text().await;
    assert!(
        text.starts_with(
            r#"{"jsonrpc":"2.0","id":"caller's","result":{"n":1.10,"n":2,"resultType":"complete","#
        ),
        "{text}"
    );
}

/// A line end in an answer would end a line of the event stream.
#[tokio::test(start_paused = true)]
async fn what_is_said_in_several_lines_is_written_on_one() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let mut params = json!({"name": "t", "arguments": {}});
    params["_meta"]["progressToken"] = "p".into();
    let answer = rig.begin_to_send(ask(1, "tools/call", params));
    let heard = puppet.hear().await;
    let token = heard["params"]["_meta"]["progressToken"].clone();

    puppet
        .say_beside(
            &heard["id"],
            "notifications/progress",
            &format!("{{\n\"progressToken\":{token},\r\n\"progress\":1}}"),
        )
        .await;
    puppet.end(&heard["id"], "{\n\"content\":\r[]}").await;

    let mut answer = answer.await.unwrap();
    assert_eq!(answer.event().await.unwrap()["params"]["progress"], 1);
    assert_eq!(answer.event().await.unwrap()["result"]["content"], json!([]));
}

/// The answers of two clients that use one id must never be exchanged (CVE-2026-25536).
#[tokio::test(start_paused = true)]
async fn one_id_from_two_clients_at_once_never_meets() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let of = |who: &str| ask(7, "tools/call", json!({"name": who}));

    for _ in 0..100 {
        let one = rig.begin_to_send(of("one"));
        let first = puppet.hear().await;
        let two = rig.begin_to_send(of("two"));
        let second = puppet.hear().await;
        assert_ne!(first["id"], second["id"]);
        puppet.answer(&second["id"], json!({"for": second["params"]["name"]})).await;
        puppet.answer(&first["id"], json!({"for": first["params"]["name"]})).await;

        for (answer, who) in [(one, "one"), (two, "two")] {
            let answer = answer.await.unwrap().json().await;
            assert_eq!((&answer["id"], &answer["result"]["for"]), (&json!(7), &json!(who)));
        }
    }
}

/// A filter by name would read one of the two, and the backend the other.
#[tokio::test(start_paused = true)]
async fn a_call_that_names_two_tools_runs_nothing() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let (head, body) = call(1).into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let body = String::from_utf8(body.to_vec()).unwrap();
    for twice in [r#""name":"t","name":"u""#, r#""name":"t","Name":"u""#] {
        let body = body.replace(r#""name":"t""#, twice);
        assert!(body.contains(twice));
        let asked = http::Request::from_parts(head.clone(), Full::new(Bytes::from(body)));

        let mut refused = rig.send(asked).await;

        assert_eq!(refused.status, 400, "{twice}");
        assert!(refused.text().await.contains("is there twice"), "{twice}");
    }
    assert_eq!(puppet.hear_now().await, None);
}

#[tokio::test(start_paused = true)]
async fn principals_share_neither_conversations_nor_sessions() {
    let mut rig = Rig::new();
    let _ours = rig.shared(json!({})).await;
    let theirs = rig.begin_to_send(by_another(ask(1, "server/discover", json!({}))));
    rig.puppet().await.greet(json!({})).await;
    assert_eq!(theirs.await.unwrap().status, 200);
    assert_eq!(rig.opened(), ["owner", "bob"]);

    let hello =
        json!({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}});
    let begun = rig.begin_to_send(post(&hello.to_string()));
    let mut puppet = rig.puppet().await;
    let asked = puppet.hear().await;
    puppet.answer(&asked["id"], json!({"protocolVersion": "2025-11-25"})).await;
    let session = begun.await.unwrap().header("mcp-session-id").unwrap().to_owned();
    let ping = || with(post(r#"{"method":"notifications/x"}"#), "mcp-session-id", Some(&session));

    assert_eq!(rig.send(ping()).await.status, 202);
    assert_eq!(rig.send(by_another(ping())).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn errors_have_the_status_and_the_code_of_the_revision() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    for (said, status, code) in [
        (-32601, 404, -32601),
        (-32602, 200, -32602),
        (-32002, 200, -32602),
        (-32042, 200, -32603),
        (-32022, 200, -32603),
        (-1, 200, -1),
    ] {
        let answer = rig.begin_to_send(ask(1, "resources/read", json!({"uri": "a:b"})));
        let heard = puppet.hear().await;
        puppet.refuse(&heard["id"], said).await;

        let mut answer = answer.await.unwrap();
        assert_eq!(answer.status.as_u16(), status, "{said}");
        assert_eq!(answer.json().await["error"]["code"], code, "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn progress_comes_with_the_callers_token_and_only_if_it_gave_one() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let params = json!({"name": "t", "_meta": {"progressToken": "mine"}});

    let answer = rig.begin_to_send(ask(1, "tools/call", params));
    let heard = puppet.hear().await;
    let token = heard["params"]["_meta"]["progressToken"].clone();
    assert_ne!(token, "mine");
    puppet.notify("notifications/progress", json!({"progressToken": token, "progress": 0.5})).await;
    let mut answer = answer.await.unwrap();
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    let progress = answer.event().await.unwrap();
    assert_eq!(progress["params"], json!({"progressToken": "mine", "progress": 0.5}));
    puppet.answer(&heard["id"], json!({})).await;
    assert_eq!(answer.event().await.unwrap()["result"]["resultType"], "complete");
    assert_eq!(answer.event().await, None);

    let plain = rig.begin_to_send(ask(2, "tools/call", json!({"name": "t"})));
    let heard = puppet.hear().await;
    assert_eq!(heard["params"], json!({"name": "t"}));
    puppet.answer(&heard["id"], json!({})).await;
    assert_eq!(plain.await.unwrap().header("content-type"), Some("application/json"));
}

#[tokio::test(start_paused = true)]
async fn the_log_comes_to_the_only_call_and_from_the_level_that_it_wants() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({"logging": {}})).await;
    let level = json!({"io.modelcontextprotocol/logLevel": "warning"});

    let answer = rig.begin_to_send(ask(1, "tools/call", json!({"name": "t", "_meta": level})));
    let set = puppet.hear().await;
    assert_eq!(
        (&set["method"], &set["params"]["level"]),
        (&json!("logging/setLevel"), &json!("warning"))
    );
    puppet.answer(&set["id"], json!({})).await;
    let heard = puppet.hear().await;
    for level in ["info", "error"] {
        puppet.notify("notifications/message", json!({"level": level, "data": level})).await;
    }
    let mut answer = answer.await.unwrap();
    assert_eq!(answer.event().await.unwrap()["params"]["data"], "error");

    // Beside another call, nothing says to which of them the question belongs.
    let other = rig.begin_to_send(ask(2, "tools/call", json!({"name": "t"})));
    let other_heard = puppet.hear().await;
    puppet.notify("notifications/message", json!({"level": "error", "data": "whose"})).await;
    let about = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": "ours"}});
    puppet.say_about(&heard["id"], about).await;
    assert_eq!(answer.event().await.unwrap()["params"]["data"], "ours");
    puppet.answer(&other_heard["id"], json!({})).await;
    puppet.answer(&heard["id"], json!({})).await;
    assert!(answer.event().await.unwrap()["result"].is_object());
    assert_eq!(other.await.unwrap().status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_disconnect_is_a_cancel_whether_or_not_the_answer_has_begun() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;

    let waiting = rig.begin_to_send(call(1));
    let first = puppet.hear().await;
    waiting.abort();
    let cancelled = puppet.hear().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], first["id"]);

    let streaming = rig.begin_to_send(call(1));
    let second = puppet.hear().await;
    // The call takes so long that a stream has begun.
    let streaming = streaming.await.unwrap();
    assert_eq!(streaming.header("content-type"), Some("text/event-stream"));
    drop(streaming);
    assert_eq!(puppet.hear().await["params"]["requestId"], second["id"]);

    // A call that is answered is not cancelled.
    let answered = rig.begin_to_send(call(1));
    let third = puppet.hear().await;
    puppet.answer(&third["id"], json!({})).await;
    drop(answered.await.unwrap());
    assert_eq!(puppet.hear_now().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_long_call_has_a_stream_that_shows_it_is_alive() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;

    let mut answer = rig.send(call(1)).await;
    let heard = puppet.hear().await;
    assert_eq!(answer.block().await.as_deref(), Some(": still here"));
    puppet.answer(&heard["id"], json!({})).await;

    assert_eq!(answer.last().await["id"], 1);
}

#[tokio::test(start_paused = true)]
async fn who_takes_only_json_gets_the_answer_alone_however_long_it_takes() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let params = able(json!({"name": "t", "_meta": {"progressToken": 1}}));

    let request = with(ask(1, "tools/call", params), "accept", Some("application/json"));
    let answer = rig.begin_to_send(request);
    let heard = puppet.hear().await;
    let token = &heard["params"]["_meta"]["progressToken"];
    puppet.notify("notifications/progress", json!({"progressToken": token, "progress": 1})).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    puppet.answer(&heard["id"], json!({})).await;

    assert_eq!(answer.await.unwrap().json().await["result"]["resultType"], "complete");
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_dies_ends_its_calls_and_the_next_has_another() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let answer = rig.begin_to_send(call(1));
    puppet.hear().await;

    puppet.die().await;

    let answer = answer.await.unwrap().json().await;
    let doubt = &answer["result"]["_meta"]["ridethrough/doubt"];
    assert_eq!((&answer["id"], &doubt["mayHaveRun"]), (&json!(1), &json!(true)), "{answer}");
    assert_eq!(answer["result"]["resultType"], "complete");
    let repeat = rig.begin_to_send(call(2));
    let mut puppet = rig.puppet().await;
    puppet.greet(json!({})).await;
    let repeat = repeat.await.unwrap().json().await;
    assert!(repeat["result"].to_string().contains("taken again after 30 s"), "{repeat}");
    assert_eq!(repeat["result"]["resultType"], "complete");
    let params = able(json!({"name": "t", "arguments": {"a": 2}}));
    let again = rig.begin_to_send(ask(3, "tools/call", params));
    let heard = puppet.hear().await;
    puppet.answer(&heard["id"], json!({})).await;
    assert_eq!(again.await.unwrap().status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_nobody_uses_ends_and_the_next_request_opens_another() {
    let mut rig = Rig::with(Settings::default().idle(Duration::from_secs(60)));
    let mut puppet = rig.shared(json!({})).await;
    let running = rig.begin_to_send(call(1));
    let heard = puppet.hear().await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    puppet.answer(&heard["id"], json!({})).await;
    running.await.unwrap().last().await;

    puppet.asked_to_end().await;
    drop(puppet);

    rig.shared(json!({})).await;
    assert_eq!(rig.opened().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn mirrored_arguments_are_compared_with_what_the_backend_lists() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({"tools": {"listChanged": true}})).await;
    let schema = json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
    let tools = json!({"tools": [{"name": "t", "inputSchema": schema}]});
    let call = |region: Option<&str>| {
        let params = json!({"name": "t", "arguments": {"region": "eu"}});
        with(ask(1, "tools/call", params), "mcp-param-region", region)
    };

    let right = rig.begin_to_send(call(Some("eu")));
    let listed = puppet.hear().await;
    assert_eq!(listed["method"], "tools/list");
    puppet.answer(&listed["id"], tools).await;
    let heard = puppet.hear().await;
    assert_eq!(heard["params"]["arguments"]["region"], "eu");
    puppet.answer(&heard["id"], json!({})).await;
    assert_eq!(right.await.unwrap().status, 200);
    for region in [None, Some("us")] {
        let mut refused = rig.send(call(region)).await;
        assert_eq!(refused.status, 400);
        assert_eq!(refused.json().await["error"]["code"], -32020);
    }

    // A list that changed is requested again.
    puppet.notify("notifications/tools/list_changed", json!({})).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let other = rig.begin_to_send(call(None));
    let listed = puppet.hear().await;
    puppet.answer(&listed["id"], json!({"tools": []})).await;
    let heard = puppet.hear().await;
    puppet.answer(&heard["id"], json!({})).await;
    assert_eq!(other.await.unwrap().status, 200);
}
