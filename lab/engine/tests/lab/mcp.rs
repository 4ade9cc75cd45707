//! The well-behaved MCP server, its rules, its log and its streams.

use std::time::Duration;

use http::Method;
use ridethrough_lab::{Mcp, Protocol, Server, Style, Times, What, When};
use serde_json::{Value, json};

use crate::client::{Answer, Client, handshake, http2_get, http2_over};

#[tokio::test(start_paused = true)]
async fn a_session_begins_with_initialize_and_the_clients_version_is_echoed() {
    let (_, mut client) = lab();

    let answer = client.post("", &initialize("2025-06-18")).await;

    assert_eq!(answer.header("mcp-session-id"), Some("lab-session-1"));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.json()["result"]["protocolVersion"], "2025-06-18");
    let answer = client.post("", &initialize("1999-01-01")).await;
    assert_eq!(answer.json()["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test(start_paused = true)]
async fn notifications_are_accepted_and_unknown_methods_are_refused() {
    let (_, mut client) = lab_with_session().await;

    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(client.post(SESSION, &notification).await.status(), 202);

    let answer = client.post(SESSION, &request("no/such")).await;
    assert_eq!(answer.json()["error"]["code"], -32601);
    assert_eq!(answer.json()["id"], 7);
}

#[tokio::test(start_paused = true)]
async fn every_listed_method_is_answered() {
    let (_, mut client) = lab_with_session().await;
    let methods = [
        ("ping", ""),
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("resources/read", "contents"),
        ("resources/subscribe", ""),
        ("resources/unsubscribe", ""),
        ("prompts/list", "prompts"),
        ("prompts/get", "messages"),
        ("completion/complete", "completion"),
        ("logging/setLevel", ""),
    ];

    for (method, field) in methods {
        let result = client.post(SESSION, &request(method)).await.json()["result"].take();
        assert!(result.is_object(), "{method}");
        assert!(field.is_empty() || !result[field].is_null(), "{method}: {result}");
    }
}

#[tokio::test(start_paused = true)]
async fn sessions_are_checked_and_their_loss_is_told_in_the_chosen_dialect() {
    let (mcp, mut client) = lab_with_session().await;
    assert_eq!(client.post("", &request("ping")).await.status(), 400);
    assert_eq!(client.post(SESSION, &request("ping")).await.status(), 200);

    mcp.forget_sessions();

    let lost = client.post(SESSION, &request("ping")).await;
    assert_eq!((lost.status(), &lost.json()["error"]["code"]), (404, &json!(-32001)));
    mcp.lost_session(400, "Bad Request: No valid session ID provided");
    let lost = client.post(SESSION, &request("ping")).await;
    assert_eq!((lost.status(), lost.header("content-type")), (400, Some("text/plain")));
}

#[tokio::test(start_paused = true)]
async fn a_server_without_sessions_asks_for_none() {
    let (mcp, mut client) = lab();
    mcp.issue_sessions(false);

    let answer = client.post("", &initialize("2025-11-25")).await;

    assert_eq!(answer.header("mcp-session-id"), None);
    assert_eq!(client.post("", &request("ping")).await.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_session_is_forgotten_and_its_standing_stream_ends() {
    let (server, mcp, mut client) = served();
    client.post("", &initialize("2025-11-25")).await;
    let mut standing = listen(&server).await;

    client.send(format!("DELETE /mcp HTTP/1.1\r\n{SESSION}\r\n")).await;

    assert_eq!(client.answer().await.unwrap().status(), 204);
    assert_eq!(standing.until("0\r\n\r\n").await.unwrap(), "0\r\n\r\n");
    assert_eq!(client.post(SESSION, &request("ping")).await.status(), 404);
    assert_eq!(mcp.count(&When::delete()), 1);
}

#[tokio::test(start_paused = true)]
async fn a_missing_or_wrong_token_is_refused() {
    let (mcp, mut client) = lab();
    mcp.require_bearer(Some("secret"));

    let refused = client.post("authorization: Bearer wrong\r\n", &initialize("")).await;
    assert_eq!((refused.status(), refused.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(client.post("", &initialize("")).await.status(), 401);

    let accepted = client.post("authorization: Bearer secret\r\n", &initialize("")).await;
    assert_eq!(accepted.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn executions_are_counted_by_tool_and_by_key() {
    let (mcp, mut client) = lab_with_session().await;

    client.post(SESSION, &call("deploy", "a")).await;
    client.post(SESSION, &call("deploy", "a")).await;
    let answer = client.post(SESSION, &call("deploy", "b")).await;
    client.post(SESSION, &call("echo", "a")).await;

    assert_eq!(answer.json()["result"]["content"][0]["text"], r#"{"key":"b"}"#);
    assert_eq!(mcp.executions("deploy"), 3);
    assert_eq!(mcp.executions_of("deploy", "a"), 2);
    assert_eq!(mcp.executions("read"), 0);
}

#[tokio::test(start_paused = true)]
async fn the_log_tells_everything_in_order() {
    let (mcp, mut client) = lab_with_session().await;
    tokio::time::sleep(Duration::from_secs(3)).await;

    client.post(SESSION, &call("deploy", "a")).await;

    let log = mcp.log();
    assert_eq!(log.len(), 2);
    assert_eq!((log[1].at.as_secs(), log[1].connection), (3, 1));
    assert_eq!((&log[1].http, log[1].target.as_str()), (&Method::POST, "/mcp"));
    assert_eq!(log[1].session.as_deref(), Some("lab-session-1"));
    let method = "tools/call".to_owned();
    assert_eq!(log[1].what, What::Request { method, tool: Some("deploy".to_owned()) });
    assert_eq!(mcp.count(&When::any()), 2);
    assert_eq!(mcp.count(&When::tool("deploy")), 1);
}

#[test]
fn two_runs_over_the_heaviest_carrier_leave_the_same_log() {
    let run = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mcp = Mcp::new();
            let server = Server::new(Protocol::Http2Tls, mcp.clone());
            for round in 0..3 {
                let raw = server.connect().unwrap();
                let secured = handshake(raw, server.protocol(), server.authority()).await.unwrap();
                let mut one = http2_over(secured).await;
                let mut other = one.clone();
                let (a, b) = tokio::join!(http2_get(&mut one, "/a"), http2_get(&mut other, "/b"));
                assert!(a.is_ok() && b.is_ok());
                tokio::time::sleep(Duration::from_millis(round)).await;
            }
            let log = mcp.log().into_iter();
            log.map(|entry| (entry.at, entry.connection, entry.target)).collect::<Vec<_>>()
        })
    };

    let first = run();

    assert_eq!(first.len(), 6);
    assert_eq!(first, run());
}

#[tokio::test(start_paused = true)]
async fn a_rule_is_used_as_often_as_it_says() {
    let (mcp, mut client) = lab_with_session().await;
    mcp.rule(When::method("ping"), Times::Exactly(2), |ask| ask.status(503, &[], "busy"));
    mcp.rule(When::method("ping"), Times::Once, |ask| ask.status(429, &[], "later"));
    mcp.rule(When::tool("echo"), Times::Always, |ask| ask.status(500, &[], ""));

    let mut pings = Vec::new();
    for _ in 0..4 {
        pings.push(client.post(SESSION, &request("ping")).await.status());
    }

    assert_eq!(pings, [503, 503, 429, 200]);
    for _ in 0..3 {
        assert_eq!(client.post(SESSION, &call("echo", "a")).await.status(), 500);
    }
}

#[tokio::test(start_paused = true)]
async fn a_rule_can_look_first_and_pass_the_request_on() {
    let (mcp, mut client) = lab_with_session().await;
    mcp.rule(When::tool("deploy"), Times::Always, |ask| async move {
        match ask.arguments()["key"].as_str() {
            Some("bad") => {
                let error = ask.error(-32000, "no");
                ask.json(error).await;
            }
            _ => ask.pass().await,
        }
    });

    let bad = client.post(SESSION, &call("deploy", "bad")).await;
    let good = client.post(SESSION, &call("deploy", "good")).await;

    assert_eq!(bad.json()["error"]["message"], "no");
    assert!(good.json()["result"].is_object());
    assert_eq!(mcp.executions("deploy"), 1);
}

#[tokio::test(start_paused = true)]
async fn every_style_of_event_stream_carries_the_answer() {
    let (mcp, mut client) = lab_with_session().await;

    for style in [Style::Sse, Style::SseApart, Style::SseWithIds] {
        mcp.answers(style);

        let answer = client.post(SESSION, &request("ping")).await;

        assert_eq!(answer.header("content-type"), Some("text/event-stream"), "{style:?}");
        assert_eq!(messages(&answer), [json!({"jsonrpc": "2.0", "id": 7, "result": {}})]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_with_ids_can_be_resumed_after_its_priming_event() {
    let (mcp, mut client) = lab_with_session().await;
    mcp.answers(Style::SseWithIds);
    let answer = client.post(SESSION, &request("ping")).await;
    assert!(answer.body.starts_with("id: 1-1\ndata: \n\nid: 1-2\n"), "{}", answer.body);

    client.send(format!("GET /mcp HTTP/1.1\r\n{EVENTS}{SESSION}last-event-id: 1-1\r\n\r\n")).await;
    let resumed = client.answer().await.unwrap();

    assert_eq!(messages(&resumed), messages(&answer));
    client.send(format!("GET /mcp HTTP/1.1\r\n{EVENTS}{SESSION}last-event-id: 9-9\r\n\r\n")).await;
    assert_eq!(client.answer().await.unwrap().status(), 404, "nobody knows that event");
    assert_eq!(mcp.count(&When::resume()), 2);
}

#[tokio::test(start_paused = true)]
async fn a_session_has_one_standing_stream_which_gets_what_is_pushed() {
    let (server, mcp, mut client) = served();
    client.post("", &initialize("2025-11-25")).await;
    assert_eq!(mcp.push(json!({"lost": true})).await, 0);

    let mut standing = listen(&server).await;
    client.send(format!("GET /mcp HTTP/1.1\r\n{EVENTS}{SESSION}\r\n")).await;
    assert_eq!(client.answer().await.unwrap().status(), 409);

    assert_eq!((mcp.standing_streams(), mcp.push(json!({"news": 1})).await), (1, 1));
    let event = standing.until("\n\n").await.unwrap();
    assert!(event.ends_with("id: 1-1\ndata: {\"news\":1}\n\n"), "{event}");
}

#[tokio::test(start_paused = true)]
async fn a_standing_stream_goes_on_where_it_was_lost() {
    let (server, mcp, mut client) = served();
    client.post("", &initialize("2025-11-25")).await;
    let standing = listen(&server).await;
    mcp.push(json!({"news": 1})).await;
    drop(standing);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((mcp.standing_streams(), mcp.push(json!({"news": 2})).await), (0, 0));

    let mut standing = Client::dial(&server);
    standing
        .send(format!("GET /mcp HTTP/1.1\r\n{EVENTS}{SESSION}last-event-id: 1-1\r\n\r\n"))
        .await;
    standing.head().await.unwrap();

    assert!(standing.until("\n\n").await.unwrap().contains(r#"{"news":2}"#));
    assert_eq!((mcp.standing_streams(), mcp.push(json!({"news": 3})).await), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_handler_can_say_anything_on_an_event_stream() {
    let (mcp, mut client) = lab_with_session().await;
    mcp.rule(When::tool("deploy"), Times::Once, |ask| async move {
        ask.run();
        let mut sse = ask.sse().await;
        sse.prime("e1").await;
        sse.comment("alive").await;
        sse.retry(Duration::from_millis(250)).await;
        sse.raw("data: ha").await;
        sse.raw("lf\n\n").await;
        sse.answer_and_finish(json!({"done": true})).await;
    });

    let answer = client.post(SESSION, &call("deploy", "a")).await;

    let said = "id: e1\ndata: \n\n: alive\n\nretry: 250\n\ndata: half\n\n";
    assert!(answer.body.starts_with(said), "{}", answer.body);
    assert!(answer.body.ends_with("\"result\":{\"done\":true}}\n\n"), "{}", answer.body);
    assert_eq!(mcp.executions("deploy"), 1);
}

fn served() -> (Server, Mcp, Client) {
    let mcp = Mcp::new();
    let server = Server::new(Protocol::Http1, mcp.clone());
    let client = Client::dial(&server);
    (server, mcp, client)
}

fn lab() -> (Mcp, Client) {
    let (_, mcp, client) = served();
    (mcp, client)
}

async fn lab_with_session() -> (Mcp, Client) {
    let (mcp, mut client) = lab();
    client.post("", &initialize("2025-11-25")).await;
    (mcp, client)
}

/// Opens the standing stream of the first session, up to the end of the answer's head.
async fn listen(server: &Server) -> Client {
    let mut client = Client::dial(server);
    client.send(format!("GET /mcp HTTP/1.1\r\n{EVENTS}{SESSION}\r\n")).await;
    let head = client.head().await.unwrap();
    assert!(head.contains("text/event-stream"), "{head}");
    client
}

fn initialize(version: &str) -> Value {
    let params = json!({"protocolVersion": version, "capabilities": {}});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

fn request(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {"uri": "lab://note"}})
}

fn call(tool: &str, key: &str) -> Value {
    let params = json!({"name": tool, "arguments": {"key": key}});
    json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": params})
}

/// The JSON-RPC messages in an event stream.
fn messages(answer: &Answer) -> Vec<Value> {
    let data = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| !data.is_empty()).map(|data| serde_json::from_str(data).unwrap()).collect()
}

const SESSION: &str = "mcp-session-id: lab-session-1\r\n";
const EVENTS: &str = "accept: text/event-stream\r\n";
