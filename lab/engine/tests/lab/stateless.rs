//! The well-behaved server of the stateless revision: what it wants, what it answers, what it logs.

use std::time::Duration;

use ridethrough_lab::{Deed, Mcp, Protocol, Round, Server, Spoken, Style, Times, When};
use serde_json::{Value, json};

use crate::client::{Answer, Client};

#[tokio::test(start_paused = true)]
async fn discover_names_the_revisions_of_the_eras_that_are_spoken() {
    let (mcp, mut client) = lab(Spoken::Modern);
    let discover = request("server/discover", json!({}));

    let modern = client.post(&routed("server/discover"), &discover).await.json();
    mcp.speaks(Spoken::Both);
    let both = client.post(&routed("server/discover"), &discover).await.json();
    mcp.speaks(Spoken::Legacy);
    let legacy = client.post(&routed("server/discover"), &discover).await;

    assert_eq!(modern["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(modern["result"]["resultType"], "complete");
    assert_eq!(modern["result"]["ttlMs"], 0);
    assert!(modern["result"]["capabilities"]["tools"].is_object());
    let info = &modern["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info["name"], "ridethrough-lab");
    assert_eq!(both["result"]["supportedVersions"][0], "2026-07-28");
    assert_eq!(both["result"]["supportedVersions"][1], "2025-11-25");
    assert_eq!(legacy.status(), 400, "it wants a session");
}

#[tokio::test(start_paused = true)]
async fn every_method_that_is_left_is_answered_and_the_others_are_not_there() {
    let (_, mut client) = lab(Spoken::Modern);
    for method in ["tools/list", "prompts/list", "resources/list", "completion/complete"] {
        let answer = client.post(&routed(method), &request(method, json!({}))).await;
        assert_eq!(answer.json()["result"]["resultType"], "complete", "{method}");
    }

    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "no/such"] {
        let answer = client.post(&routed(method), &request(method, json!({}))).await;
        assert_eq!((answer.status(), code(&answer)), (404, -32601), "{method}");
    }
    for http in ["GET", "DELETE"] {
        client.send(format!("{http} /mcp HTTP/1.1\r\n\r\n")).await;
        assert_eq!(client.answer().await.unwrap().status(), 405, "{http}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_must_carry_its_metadata() {
    let (mcp, mut client) = lab(Spoken::Modern);
    let bare = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}});
    let mut poor = request("tools/list", json!({}));
    poor["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});

    for wrong in [bare.clone(), poor] {
        let answer = client.post(&routed("tools/list"), &wrong).await;
        assert_eq!((answer.status(), code(&answer)), (400, -32602));
        assert_eq!(answer.json()["id"], 7);
    }
    let legacy = client.post("mcp-protocol-version: 2025-11-25\r\n", &bare).await;
    assert_eq!((legacy.status(), code(&legacy)), (400, -32022));
    assert_eq!(legacy.json()["error"]["data"]["supported"], json!(["2026-07-28"]));
    assert_eq!(legacy.json()["error"]["data"]["requested"], "2025-11-25");
    let mut newer = request("tools/list", json!({}));
    newer["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2027-01-01".into();
    let headers = routed("tools/list").replace("2026-07-28", "2027-01-01");
    let newer = client.post(&headers, &newer).await;
    assert_eq!((newer.status(), code(&newer)), (400, -32022));
    assert_eq!(newer.json()["error"]["data"]["requested"], "2027-01-01");
    assert_eq!(mcp.runs(), []);
}

#[tokio::test(start_paused = true)]
async fn headers_must_say_what_the_body_says() {
    let (mcp, mut client) = lab(Spoken::Modern);
    let call = call("echo", json!({"msg": "a"}));
    let good = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo\r\n";
    let wrongs = [
        good.replace("mcp-protocol-version: 2026-07-28\r\n", ""),
        good.replace("2026-07-28", "2025-11-25"),
        good.replace("mcp-method: tools/call\r\n", ""),
        good.replace("tools/call", "tools/list"),
        good.replace("mcp-name: echo\r\n", ""),
        good.replace("echo", "deploy"),
        good.replace("echo", "=?base64?!?="),
    ];

    for wrong in &wrongs {
        let answer = client.post(wrong, &call).await;
        assert_eq!((answer.status(), code(&answer)), (400, -32020), "{wrong}");
    }

    assert_eq!(mcp.executions("echo"), 0);
    assert_eq!(text(&client.post(good, &call).await), "a");
    let coded = good.replace("echo", "=?base64?ZWNobw==?=");
    assert_eq!(text(&client.post(&coded, &call).await), "a");
    assert_eq!(mcp.executions("echo"), 2);
}

#[tokio::test(start_paused = true)]
async fn arguments_that_the_schema_marks_must_be_in_headers_too() {
    let (mcp, mut client) = lab(Spoken::Modern);
    let region = json!({"type": "string", "x-mcp-header": "Region"});
    let depth = json!({"type": "integer", "x-mcp-header": "Depth"});
    let inner = json!({"type": "object", "properties": {"depth": depth}});
    let schema = json!({"type": "object", "properties": {"region": region, "inner": inner}});
    mcp.tools(json!([{"name": "route", "inputSchema": schema}]));
    let arguments = json!({"region": "eu", "inner": {"depth": 3}, "msg": "a"});
    let routed = routed("tools/call") + "mcp-name: route\r\n";
    let mut post = async |headers: &str, arguments: &Value| {
        let headers = format!("{routed}{headers}");
        client.post(&headers, &call("route", arguments.clone())).await
    };

    let good = post("mcp-param-region: eu\r\nmcp-param-depth: 3\r\n", &arguments).await;
    let missing = post("mcp-param-region: eu\r\n", &arguments).await;
    let other = post("mcp-param-region: us\r\nmcp-param-depth: 3\r\n", &arguments).await;
    let needless = post("mcp-param-region: eu\r\n", &json!({"msg": "a"})).await;
    let none = post("", &json!({"msg": "a"})).await;

    assert_eq!((text(&good), text(&none)), ("a".to_owned(), "a".to_owned()));
    for wrong in [missing, other, needless] {
        assert_eq!((wrong.status(), code(&wrong)), (400, -32020));
    }
    assert_eq!(mcp.executions("route"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_of_both_eras_takes_each_request_as_what_it_says_it_is() {
    let (_, mut client) = lab(Spoken::Both);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let legacy = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});

    let session = client.post("", &initialize).await;
    let old = client.post("mcp-session-id: lab-session-1\r\n", &legacy).await;
    let new = client.post(&routed("tools/list"), &request("tools/list", json!({}))).await;

    assert_eq!(session.header("mcp-session-id"), Some("lab-session-1"));
    assert!(old.json()["result"]["resultType"].is_null());
    assert_eq!(new.json()["result"]["resultType"], "complete");
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_the_stateless_revision_has_no_event_ids() {
    let (mcp, mut client) = lab(Spoken::Modern);
    for style in [Style::Sse, Style::SseApart, Style::SseWithIds] {
        mcp.answers(style);

        let answer =
            client.post(&routed("prompts/list"), &request("prompts/list", json!({}))).await;

        assert!(answer.body.starts_with("data: {"), "{style:?}: {}", answer.body);
        assert!(!answer.body.contains("\nid:"), "{style:?}: {}", answer.body);
        assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    }
}

#[tokio::test(start_paused = true)]
async fn closing_the_stream_is_a_cancel_and_the_log_says_so() {
    for (spoken, deed) in [(Spoken::Modern, Deed::Cancelled), (Spoken::Legacy, Deed::Gone)] {
        let (mcp, mut client) = lab(spoken);
        mcp.rule(When::tool("deploy"), Times::Once, |ask| async move {
            ask.run();
            ask.sse().await.gone().await;
        });
        let (head, body) = (routed("tools/call"), call("deploy", json!({})).to_string());
        let length = body.len();

        client
            .send(format!(
                "POST /mcp HTTP/1.1\r\n{head}mcp-name: deploy\r\ncontent-length: {length}\r\n\r\n{body}"
            ))
            .await;
        client.head().await.unwrap();
        drop(client);
        tokio::time::sleep(Duration::from_secs(1)).await;

        assert_eq!(mcp.marks().last().map(|mark| &mark.deed), Some(&deed), "{spoken:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_needs_input_runs_when_it_has_it() {
    let (mcp, mut client) = lab(Spoken::Modern);
    let input = json!({"name": {"method": "elicitation/create", "params": {"message": "Who?"}}});
    mcp.asks_for_input(
        "deploy",
        vec![
            Round { input: Some(input.clone()), state: Some("s 1".to_owned()) },
            Round { input: None, state: Some("s 2".to_owned()) },
        ],
    );
    let head = routed("tools/call") + "mcp-name: deploy\r\n";
    let with = |more: Value| {
        let mut call = call("deploy", json!({"msg": "a"}));
        for (name, value) in more.as_object().unwrap() {
            call["params"][name] = value.clone();
        }
        let able = json!({"elicitation": {}});
        call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = able;
        call
    };

    let unable = client.post(&head, &call("deploy", json!({"msg": "a"}))).await;
    let first = client.post(&head, &with(json!({}))).await.json();
    let poor = client.post(&head, &with(json!({"requestState": "s 1"}))).await;
    let responses = json!({"name": {"action": "accept", "content": {"name": "Ada"}}});
    let told = json!({"requestState": "s 1", "inputResponses": responses});
    let second = client.post(&head, &with(told)).await.json();
    let forged = client.post(&head, &with(json!({"requestState": "s2"}))).await;
    assert_eq!(mcp.executions("deploy"), 0);
    let last = client.post(&head, &with(json!({"requestState": "s 2"}))).await;

    assert_eq!((unable.status(), code(&unable)), (400, -32021));
    let data = &unable.json()["error"]["data"];
    assert_eq!(data["requiredCapabilities"], json!({"elicitation": {}}));
    assert_eq!(first["result"]["resultType"], "input_required");
    assert_eq!(first["result"]["inputRequests"], input);
    assert_eq!(first["result"]["requestState"], "s 1");
    assert_eq!((code(&poor), code(&forged)), (-32602, -32602));
    assert_eq!(second["result"]["requestState"], "s 2");
    assert!(second["result"]["inputRequests"].is_null());
    assert_eq!(text(&last), "a");
    assert_eq!(mcp.executions("deploy"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_acknowledged_tagged_and_ended_with_a_result() {
    let (mcp, mut client) = lab(Spoken::Modern);
    let wanted = json!({"toolsListChanged": true, "promptsListChanged": false, "odd": true,
        "resourceSubscriptions": ["lab://note"]});
    let listen = request("subscriptions/listen", json!({"notifications": wanted}));
    let (head, body) = (routed("subscriptions/listen"), listen.to_string());
    let length = body.len();
    client
        .send(format!("POST /mcp HTTP/1.1\r\n{head}content-length: {length}\r\n\r\n{body}"))
        .await;
    client.head().await.unwrap();

    let ack = client.until("\n\n").await.unwrap();
    assert!(ack.contains(r#""method":"notifications/subscriptions/acknowledged""#), "{ack}");
    let honoured =
        r#""notifications":{"resourceSubscriptions":["lab://note"],"toolsListChanged":true}"#;
    assert!(ack.contains(honoured), "{ack}");
    assert!(ack.contains(TAG), "{ack}");
    assert_eq!(mcp.standing_streams(), 1);

    assert_eq!(mcp.push(told("prompts/list_changed", json!({}))).await, 0);
    assert_eq!(mcp.push(told("resources/updated", json!({"uri": "lab://other"}))).await, 0);
    assert_eq!(mcp.push(told("resources/updated", json!({"uri": "lab://note"}))).await, 1);
    let news = client.until("\n\n").await.unwrap();
    assert!(news.contains("lab://note") && news.contains(TAG), "{news}");

    assert_eq!(mcp.end_subscriptions(), 1);
    let end = client.until("0\r\n\r\n").await.unwrap();
    assert!(end.contains(r#""resultType":"complete""#) && end.contains(r#""id":7"#), "{end}");
    assert_eq!(mcp.standing_streams(), 0);
}

#[tokio::test(start_paused = true)]
async fn one_who_left_is_told_nothing() {
    let (mcp, mut client) = lab(Spoken::Modern);
    let listen =
        request("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let (head, body) = (routed("subscriptions/listen"), listen.to_string());
    let length = body.len();
    client
        .send(format!("POST /mcp HTTP/1.1\r\n{head}content-length: {length}\r\n\r\n{body}"))
        .await;
    client.until("\n\n").await.unwrap();
    drop(client);
    tokio::time::sleep(Duration::from_secs(1)).await;

    assert_eq!(mcp.push(told("tools/list_changed", json!({}))).await, 0);
    assert_eq!(mcp.standing_streams(), 0);
    assert_eq!(mcp.marks().last().map(|mark| &mark.deed), Some(&Deed::Cancelled));
}

fn lab(spoken: Spoken) -> (Mcp, Client) {
    let mcp = Mcp::new();
    mcp.speaks(spoken);
    let server = Server::new(Protocol::Http1, mcp.clone());
    let client = Client::dial(&server);
    (mcp, client)
}

fn routed(method: &str) -> String {
    format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n")
}

fn request(method: &str, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

fn call(tool: &str, arguments: Value) -> Value {
    request("tools/call", json!({"name": tool, "arguments": arguments}))
}

fn told(name: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": format!("notifications/{name}"), "params": params})
}

fn code(answer: &Answer) -> i64 {
    answer.json()["error"]["code"].as_i64().unwrap_or_default()
}

fn text(answer: &Answer) -> String {
    let text = answer.json()["result"]["content"][0]["text"].as_str().map(str::to_owned);
    text.unwrap_or_default()
}

const TAG: &str = r#""io.modelcontextprotocol/subscriptionId":7"#;
