//! Calls of the stateless era: what they carry, how they are cancelled, and how those end whose connection
//! breaks.

use ridethrough::error::Kind;
use ridethrough::model::{Elicited, LogLevel};
use ridethrough::{Client, Era, Json};
use ridethrough_lab::{Deed, Mcp, Protocol, Round, Spoken, Times, When};
use serde_json::{Value, json};

use crate::rig::{Rig, call, secs, text};

on_every_carrier! {
    async fn every_method_is_answered_without_a_session(rig: Rig) {
        let client = stateless(&rig);

        assert!(!client.tools().await.unwrap().is_empty());
        client.call_tool("echo", json!({"msg": "a"})).await.unwrap();
        assert_eq!(client.resources().await.unwrap().len(), 1);
        client.read_resource("lab://note").await.unwrap();
        assert_eq!(client.prompts().await.unwrap().len(), 1);
        client.get_prompt("greet", ()).await.unwrap();
        client.ping().await.unwrap();
        client.close().await;

        assert_eq!(rig.count(When::method("initialize")), 0);
        let log = rig.mcp.log();
        assert!(log.iter().all(|it| it.http == "POST" && it.session.is_none()), "{log:?}");
    }

    async fn an_unsafe_call_that_is_cut_off_is_told_and_never_repeated(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async move {
            ask.run();
            ask.sse().await.cut().await;
        });
        let client = stateless(&rig);

        let error = call(&client, "deploy", "a").await.unwrap_err();
        tokio::time::sleep(secs(60)).await;

        let error = error.call().unwrap();
        assert_eq!((error.kind, error.may_have_run()), (Kind::Interrupted, true));
        assert_eq!(rig.mcp.executions("deploy"), 1);
        assert_eq!(rig.count(When::resume()), 0);
    }

    async fn a_safe_call_that_is_cut_off_is_asked_again(rig: Rig) {
        rig.mcp.rule(When::method("tools/list"), Times::Exactly(2), |ask| async move {
            ask.sse().await.cut().await;
        });
        let client = stateless(&rig);

        client.tools().await.unwrap();

        assert_eq!(rig.count(When::method("tools/list")), 3);
        assert_eq!(rig.count(When::notification("notifications/cancelled")), 0);
    }

    async fn a_cancel_closes_the_stream_and_says_nothing(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async move {
            let mut sse = ask.sse().await;
            sse.gone().await;
        });
        let client = stateless(&rig);
        let pending = client.request("tools/call", json!({"name": "deploy"})).answer();
        tokio::time::sleep(secs(1)).await;

        drop(pending);
        tokio::time::sleep(secs(60)).await;

        assert!(rig.mcp.marks().iter().any(|mark| mark.deed == Deed::Cancelled), "it was closed");
        assert_eq!(rig.count(When::tool("deploy")), 1);
        assert_eq!(rig.count(When::notification("notifications/cancelled")), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn input_is_asked_of_the_handlers_and_the_state_comes_back_as_it_was() {
    let rig = Rig::over(Protocol::Http1);
    let question = json!({"method": "elicitation/create", "params": {
        "message": "sure?", "requestedSchema": {"type": "object", "properties": {}}}});
    let state = " s\u{e9}\"\\ 1 ";
    let asks = Round { input: Some(json!({"sure": question})), state: Some(state.to_owned()) };
    rig.mcp.asks_for_input("deploy", vec![asks]);
    rig.mcp.speaks(Spoken::Modern);
    let client = rig
        .builder()
        .eras(Era::Modern)
        .on_form(|_| async { Elicited::Accepted(Json::new(r#"{"yes":true}"#).unwrap()) });

    let result = client.build().unwrap().call_tool("deploy", json!({"msg": "a"})).await.unwrap();

    assert_eq!(result.content[0].as_text(), Some("a"));
    let calls = calls(&rig.mcp);
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1]["params"]["requestState"], state);
    let given = &calls[1]["params"]["inputResponses"]["sure"];
    assert_eq!((&given["action"], &given["content"]["yes"]), (&json!("accept"), &json!(true)));
    assert_ne!(calls[0]["id"], calls[1]["id"]);
}

#[tokio::test(start_paused = true)]
async fn marked_arguments_are_in_headers_though_the_tool_was_never_listed() {
    let rig = Rig::over(Protocol::Http1);
    let region = json!({"type": "string", "x-mcp-header": "Region"});
    let schema = json!({"type": "object", "properties": {"region": region}});
    rig.mcp.tools(json!([{"name": "route", "inputSchema": schema}]));
    let client = stateless(&rig);

    client.call_tool("route", json!({"region": "gr\u{fc}n"})).await.unwrap();

    assert_eq!(rig.mcp.executions("route"), 1);
    assert_eq!(rig.count(When::method("tools/list")), 1);
    assert_eq!(rig.count(When::tool("route")), 2);
}

#[tokio::test(start_paused = true)]
async fn the_log_level_goes_with_each_call() {
    let rig = Rig::over(Protocol::Http1);
    let client = stateless(&rig);

    client.set_log_level(LogLevel::Debug).await.unwrap();
    call(&client, "deploy", "a").await.unwrap();

    let meta = &calls(&rig.mcp)[0]["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/logLevel"], "debug");
}

#[tokio::test(start_paused = true)]
async fn the_place_of_a_call_in_a_trace_goes_with_it() {
    let rig = Rig::over(Protocol::Http1);
    let client = stateless(&rig);

    client.call_tool("echo", json!({"msg": "a"})).meta("traceparent", "00-1-2-01").await.unwrap();

    let meta = &calls(&rig.mcp)[0]["params"]["_meta"];
    assert_eq!(meta["traceparent"], "00-1-2-01");
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}

#[tokio::test(start_paused = true)]
async fn progress_is_told_in_this_era_too() {
    let rig = Rig::over(Protocol::Http1);
    rig.mcp.rule(When::tool("build"), Times::Always, |ask| async move {
        let token = ask.params()["_meta"]["progressToken"].clone();
        let mut sse = ask.sse().await;
        for step in 1..=3 {
            let params = json!({"progressToken": token, "progress": step});
            let notification = json!({
                "jsonrpc": "2.0", "method": "notifications/progress", "params": params});
            sse.message(None, &notification).await;
        }
        sse.answer_and_finish(text("built")).await;
    });
    let client = stateless(&rig);
    let (call, mut progress) = client.call_tool("build", ()).with_progress();

    let (result, steps) = tokio::join!(call.into_future(), async {
        let mut steps = 0;
        while progress.next().await.is_some() {
            steps += 1;
        }
        steps
    });

    result.unwrap();
    assert_eq!(steps, 3);
}

fn stateless(rig: &Rig) -> Client {
    rig.mcp.speaks(Spoken::Modern);
    rig.builder().eras(Era::Modern).build().unwrap()
}

/// Returns the tool calls that reached the server.
fn calls(mcp: &Mcp) -> Vec<Value> {
    let when = When::method("tools/call");
    let log = mcp.log().into_iter().filter(|entry| when.holds(entry));
    log.map(|entry| serde_json::from_slice(&entry.body).unwrap()).collect()
}
