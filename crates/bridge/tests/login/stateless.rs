//! Hosts of the stateless revision, which are never sent a request: the page is the answer to a call.

use serde_json::{Value, json};

use crate::rig::Host;
use crate::stage::{Stage, words};
use crate::support::consent;

#[tokio::test]
async fn the_page_is_the_answer_to_the_call_and_the_next_one_goes_through() {
    let stage = Stage::new().await;
    let mut host = Host::start(stage.bridge());

    call(&mut host, 1, json!({})).await;
    let asked = host.hear_json().await;

    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let (key, question) = result["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(question["method"], "elicitation/create");
    assert!(question["params"]["elicitationId"].is_null(), "the revision has none");
    consent(question["params"]["url"].as_str().unwrap()).await;
    call(&mut host, 2, json!({"inputResponses": {key: {"action": "accept"}}})).await;
    let answer = host.hear_json().await;
    assert!(answer["result"]["content"].is_array(), "{answer}");
}

#[tokio::test]
async fn whoever_comes_back_before_the_login_is_over_waits_for_it() {
    let stage = Stage::new().await;
    let mut host = Host::start(stage.bridge());
    call(&mut host, 1, json!({})).await;
    let asked = host.hear_json().await;
    let questions = asked["result"]["inputRequests"].as_object().unwrap();
    let (key, question) = questions.iter().next().unwrap();

    call(&mut host, 2, json!({"inputResponses": {key: {"action": "accept"}}})).await;
    consent(question["params"]["url"].as_str().unwrap()).await;

    let answer = host.hear_json().await;
    assert_eq!(answer["id"], 2);
    assert!(answer["result"]["content"].is_array(), "{answer}");
}

#[tokio::test]
async fn whoever_declines_the_page_gets_an_error_and_no_second_page() {
    let stage = Stage::new().await;
    let mut host = Host::start(stage.bridge());
    call(&mut host, 1, json!({})).await;
    let asked = host.hear_json().await;
    let key = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();

    call(&mut host, 2, json!({"inputResponses": {key: {"action": "decline"}}})).await;
    assert!(words(&host.hear_json().await).contains("declined"));
    call(&mut host, 3, json!({})).await;

    let again = host.hear_json().await;
    assert!(words(&again).contains("needs a login"), "{again}");
}

#[tokio::test]
async fn a_host_without_pages_gets_the_error_and_no_code_that_the_revision_forbids() {
    let stage = Stage::new().await;
    let mut host = Host::start(stage.bridge());

    ask(&mut host, 1, json!({}), json!({})).await;

    let answer = host.hear_json().await;
    assert!(words(&answer).contains("needs a login"), "{answer}");
    assert_eq!(answer["error"]["code"], -32000);
}

async fn call(host: &mut Host, id: u64, more: Value) {
    ask(host, id, json!({"elicitation": {"url": {}}}), more).await;
}

async fn ask(host: &mut Host, id: u64, capabilities: Value, more: Value) {
    let mut params = json!({"name": "hello", "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "host", "version": "1"},
    }});
    let members = more.as_object().unwrap().clone();
    params.as_object_mut().unwrap().extend(members);
    host.ask(id, "tools/call", params).await;
}
