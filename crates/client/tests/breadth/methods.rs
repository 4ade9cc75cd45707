//! Each method of MCP, typed: what it sends, and how it reads the answer.

use ridethrough::call::Params;
use ridethrough::error::Kind;
use ridethrough::model::{Content, LogLevel, Reference, Role};
use ridethrough::{Client, Error};
use ridethrough_lab::{Protocol, Times, When};
use serde_json::{Value, json};

use crate::rig::{Rig, text};

#[tokio::test(start_paused = true)]
async fn a_tool_is_called_by_name_with_its_arguments() {
    let (rig, client) = rig();
    answer(
        &rig,
        "tools/call",
        json!({"content": [{"type": "text", "text": "hi"}], "isError": true}),
    );

    let result = client.call_tool("greet", json!({"name": "Ann"})).await.unwrap();

    assert_eq!(result.text(), "hi");
    assert!(result.is_error);
    assert_eq!(params(&rig, "tools/call"), json!({"name": "greet", "arguments": {"name": "Ann"}}));
}

#[tokio::test(start_paused = true)]
async fn arguments_are_whatever_can_be_written_as_an_object() {
    #[derive(serde::Serialize)]
    struct Greeting<'a> {
        name: &'a str,
    }
    let (rig, client) = rig();
    answer(&rig, "tools/call", text("hi"));

    client.call_tool("greet", Greeting { name: "Ann" }).await.unwrap();

    assert_eq!(params(&rig, "tools/call"), json!({"name": "greet", "arguments": {"name": "Ann"}}));
}

#[tokio::test(start_paused = true)]
async fn arguments_that_cannot_be_written_as_json_are_never_sent() {
    let (rig, client) = rig();
    let by_pair = std::collections::BTreeMap::from([((1, 2), 3)]);

    let error = client.call_tool("greet", by_pair).await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::Config));
    assert!(error.to_string().contains("cannot be written as JSON"), "{error}");
    assert_eq!(rig.mcp.log().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_tool_without_arguments_is_called_without_them() {
    let (rig, client) = rig();
    answer(&rig, "tools/call", text("hi"));

    client.call_tool("greet", ()).await.unwrap();

    assert_eq!(params(&rig, "tools/call"), json!({"name": "greet"}));
}

#[tokio::test(start_paused = true)]
async fn a_typed_call_is_marked_and_timed_like_any_other() {
    let (rig, client) = rig();
    rig.mcp.rule(When::method("tools/call"), Times::Once, |ask| async {
        ask.run();
        ask.status(502, &[], "").await;
    });

    let result = client.call_tool("echo", json!({"key": "a"})).idempotent().await;

    result.unwrap();
    assert_eq!(rig.mcp.executions_of("echo", "a"), 2);
}

#[tokio::test(start_paused = true)]
async fn arguments_that_are_no_object_are_never_sent() {
    let (rig, client) = rig();

    let error = client.call_tool("greet", json!(["Ann"])).await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::Config));
    assert!(error.to_string().starts_with("tools/call `greet` was not sent: "), "{error}");
    assert_eq!(rig.mcp.log().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_resource_is_read_as_text_or_as_bytes() {
    let (rig, client) = rig();
    let contents = json!([{"uri": "a:1", "mimeType": "text/plain", "text": "t"}, {"uri": "a:2", "blob": "aGk="}]);
    answer(&rig, "resources/read", json!({"contents": contents}));

    let result = client.read_resource("a:1").await.unwrap();

    assert_eq!(result.contents[0].text.as_deref(), Some("t"));
    assert_eq!(result.contents[1].blob.as_deref(), Some("aGk="));
    assert_eq!(params(&rig, "resources/read"), json!({"uri": "a:1"}));
}

#[tokio::test(start_paused = true)]
async fn resources_are_subscribed_to_and_left() {
    let (rig, client) = rig();
    answer(&rig, "resources/subscribe", json!({}));
    answer(&rig, "resources/unsubscribe", json!({}));

    client.subscribe("a:1").await.unwrap();
    client.unsubscribe("a:1").await.unwrap();

    assert_eq!(params(&rig, "resources/subscribe"), json!({"uri": "a:1"}));
    assert_eq!(params(&rig, "resources/unsubscribe"), json!({"uri": "a:1"}));
}

#[tokio::test(start_paused = true)]
async fn a_prompt_is_filled_in() {
    let (rig, client) = rig();
    let messages = json!([{"role": "assistant", "content": {"type": "text", "text": "hello"}}]);
    answer(&rig, "prompts/get", json!({"description": "d", "messages": messages}));

    let result = client.get_prompt("greet", json!({"name": "Ann"})).await.unwrap();

    assert_eq!(result.messages[0].role, Role::Assistant);
    assert_eq!(result.messages[0].content, [Content::Text("hello".to_owned())]);
    let sent = json!({"name": "greet", "arguments": {"name": "Ann"}});
    assert_eq!(params(&rig, "prompts/get"), sent);
}

#[tokio::test(start_paused = true)]
async fn an_argument_is_completed_in_its_context() {
    let (rig, client) = rig();
    let completion = json!({"values": ["Wellington"], "total": 3, "hasMore": true});
    answer(&rig, "completion/complete", json!({"completion": completion}));
    let city = Reference::prompt("weather").with("country", "NZ");

    let found = client.complete(&city, "city", "We").await.unwrap();

    assert_eq!((found.values.len(), found.total, found.has_more), (1, Some(3), true));
    assert_eq!(
        params(&rig, "completion/complete"),
        json!({
            "ref": {"type": "ref/prompt", "name": "weather"},
            "argument": {"name": "city", "value": "We"},
            "context": {"arguments": {"country": "NZ"}},
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_variable_of_a_template_is_completed_without_a_context() {
    let (rig, client) = rig();
    answer(&rig, "completion/complete", json!({"completion": {"values": []}}));

    client.complete(&Reference::resource("file:///{path}"), "path", "").await.unwrap();

    assert_eq!(
        params(&rig, "completion/complete"),
        json!({
            "ref": {"type": "ref/resource", "uri": "file:///{path}"},
            "argument": {"name": "path", "value": ""},
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_log_level_is_set_by_its_name() {
    let (rig, client) = rig();
    answer(&rig, "logging/setLevel", json!({}));

    client.set_log_level(LogLevel::Warning).await.unwrap();

    assert_eq!(params(&rig, "logging/setLevel"), json!({"level": "warning"}));
}

#[tokio::test(start_paused = true)]
async fn a_ping_has_no_params() {
    let (rig, client) = rig();

    client.ping().await.unwrap();

    assert_eq!(params(&rig, "ping"), Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_result_of_another_form_is_there_as_it_was_sent() {
    let (rig, client) = rig();
    answer(&rig, "resources/read", json!({"contents": "none"}));

    let error = client.read_resource("a:1").await.unwrap_err();

    assert!(error.report().starts_with("the result of `resources/read` has another form"));
    let Error::Answer { result, .. } = error else { panic!("{error}") };
    assert_eq!(result.as_str(), r#"{"contents":"none"}"#);
}

#[tokio::test(start_paused = true)]
async fn a_result_is_read_as_a_type_of_the_callers() {
    #[derive(serde::Deserialize)]
    struct Own {
        answer: u8,
    }
    let (rig, client) = rig();
    answer(&rig, "own/method", json!({"answer": 42}));

    let own: Own = client.request("own/method", Params::default()).typed().await.unwrap();

    assert_eq!(own.answer, 42);
}

fn rig() -> (Rig, Client) {
    let rig = Rig::over(Protocol::Http1);
    let client = rig.client();
    (rig, client)
}

fn answer(rig: &Rig, method: &str, result: Value) {
    rig.mcp.rule(When::method(method), Times::Always, move |ask| {
        let body = ask.result(result.clone());
        async move { ask.json(body).await }
    });
}

/// Returns the params of the one request of this method.
fn params(rig: &Rig, method: &str) -> Value {
    let when = When::method(method);
    let log = rig.mcp.log();
    let mut asked = log.iter().filter(|entry| when.holds(entry));
    let (Some(entry), None) = (asked.next(), asked.next()) else { panic!("not asked once") };
    let message: Value = serde_json::from_slice(&entry.body).unwrap();
    message["params"].clone()
}
