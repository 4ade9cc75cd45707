//! The everyday calls of `rmcp`'s typed client, over this client as its transport.
#![expect(deprecated, reason = "roots and logging are what servers of today use")]

use ridethrough::rmcp::Facts;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientConfig, ClientRequest, GetPromptRequestParams,
    LoggingLevel, ProtocolVersion, ReadResourceRequestParams, SetLevelRequestParams,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use rmcp::{ClientLifecycleMode, ClientServiceExt, ServiceExt};

use crate::front::Asked;
use crate::guest::Guest;
use crate::rig::{Polling, Rig, post, secs, settle, tool};

#[tokio::test(start_paused = true)]
async fn typed_calls_get_typed_answers() {
    let rig = Rig::new(Polling::Asked);
    let (service, _) = rig.served().await;

    let tools = service.list_all_tools().await.unwrap();
    let prompts = service.list_all_prompts().await.unwrap();
    let resources = service.list_all_resources().await.unwrap();
    let prompt = service.get_prompt(GetPromptRequestParams::new("greet")).await.unwrap();
    let contents = service.read_resource(ReadResourceRequestParams::new("mem:a")).await.unwrap();
    let result = service.call_tool(tool("echo")).await.unwrap();

    let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["echo", "steps", "look"]);
    assert_eq!((prompts.len(), resources.len()), (1, 1));
    assert_eq!((prompt.messages.len(), contents.contents.len()), (1, 1));
    assert_eq!(result.content[0].as_text().unwrap().text, "null");
}

#[tokio::test(start_paused = true)]
async fn the_server_hears_who_rmcp_says_we_are_and_is_told_once_that_we_are_ready() {
    let rig = Rig::new(Polling::Asked);
    let (service, _) = rig.served().await;

    settle().await;

    assert_eq!(rig.workshop.clients(), ["guest"]);
    assert_eq!(rig.front.count(&post("notifications/initialized")), 1);
    assert!(service.peer_info().unwrap().capabilities.tools.is_some());
}

/// The link asks for the newest revision it speaks, whatever `rmcp` asks for; `rmcp` sees the revision that
/// the server agreed to.
#[tokio::test(start_paused = true)]
async fn rmcp_sees_the_revision_that_the_link_agreed_on() {
    let rig = Rig::new(Polling::Asked);
    let client = rig.builder().build().unwrap();
    let asks = ClientConfig::default().with_protocol_version(ProtocolVersion::V_2025_03_26);

    let service = asks.serve(client).await.unwrap();

    let agreed = service.peer_info().unwrap().protocol_version.clone();
    assert_eq!(agreed, ProtocolVersion::V_2025_11_25);
}

#[tokio::test(start_paused = true)]
async fn a_lifecycle_that_probes_the_newest_revision_falls_back_and_keeps_its_name() {
    let rig = Rig::new(Polling::Asked);
    let client = rig.builder().build().unwrap();
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let mode = ClientLifecycleMode::Auto { preferred_versions, legacy_version: None };

    let service = Guest::default().serve_with_lifecycle(client, mode).await.unwrap();
    service.call_tool(tool("echo")).await.unwrap();

    assert_eq!(rig.workshop.clients(), ["guest"]);
    assert_eq!(rig.front.count(&post("server/discover")), 0);
}

#[tokio::test(start_paused = true)]
async fn progress_reaches_the_handler_with_the_token_that_rmcp_gave_it() {
    let rig = Rig::new(Polling::Asked);
    let (service, guest) = rig.served().await;
    rig.workshop.gate.0.add_permits(1);
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(tool("steps")));

    let options = PeerRequestOptions::no_options();
    let call = service.send_cancellable_request(request, options).await.unwrap();
    let token = call.progress_token.clone();
    call.await_response().await.unwrap();
    settle().await;

    let expected: Vec<_> = (1..=3).map(|step| format!("progress {step} of {}", token.0)).collect();
    assert_eq!(guest.heard(), expected);
}

#[tokio::test(start_paused = true)]
async fn messages_without_an_answer_go_both_ways() {
    let rig = Rig::new(Polling::Asked);
    let (service, guest) = rig.served().await;

    service.set_level(SetLevelRequestParams::new(LoggingLevel::Info)).await.unwrap();
    service.notify_roots_list_changed().await.unwrap();
    service.call_tool(tool("log")).await.unwrap();
    service.call_tool(tool("change")).await.unwrap();
    settle().await;

    assert_eq!(rig.workshop.notes(), ["level Info", "roots changed"]);
    let mut heard = guest.heard();
    heard.sort();
    assert_eq!(heard, ["log \"a word\"", "tools changed"]);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_server_is_passed_on_as_it_is_and_has_no_facts() {
    let rig = Rig::new(Polling::Asked);
    let (service, _) = rig.served().await;

    let error = service.call_tool(tool("fail")).await.unwrap_err();

    assert_eq!(Facts::of(&error), None);
    let ServiceError::McpError(error) = error else { panic!("{error}") };
    assert_eq!((error.code.0, &*error.message), (-32050, "no"));
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_server_cannot_pass_for_facts_of_ours() {
    let rig = Rig::new(Polling::Asked);
    let (service, _) = rig.served().await;

    let error = service.call_tool(tool("pretend")).await.unwrap_err();

    assert_eq!(Facts::of(&error), None);
    let ServiceError::McpError(error) = error else { panic!("{error}") };
    assert_eq!(error.data.unwrap(), serde_json::json!({ "why": "so" }));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_rmcp_cancels_is_cancelled_on_the_server_once() {
    let rig = Rig::new(Polling::Asked);
    let (service, _) = rig.served().await;
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(tool("wait")));
    let options = PeerRequestOptions::no_options();
    let call = service.send_cancellable_request(request, options).await.unwrap();
    settle().await;

    call.cancel(Some("enough".to_owned())).await.unwrap();
    settle().await;

    assert_eq!(rig.workshop.notes(), ["cancelled"]);
    assert_eq!(rig.front.count(&post("notifications/cancelled")), 1);
    assert_eq!(rig.front.count(&Asked::Resume), 0);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_rmcps_own_cancels_the_call_on_the_server() {
    let rig = Rig::new(Polling::Asked);
    let (service, _) = rig.served().await;
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(tool("wait")));
    let options = PeerRequestOptions::with_timeout(secs(5));

    let call = service.send_cancellable_request(request, options).await.unwrap();
    let error = call.await_response().await.unwrap_err();
    settle().await;

    assert!(matches!(error, ServiceError::Timeout { .. }), "{error}");
    assert_eq!(rig.workshop.notes(), ["cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn calls_run_side_by_side() {
    let rig = Rig::new(Polling::Asked);
    let (service, _) = rig.served().await;
    let slow = service.peer().clone();
    let slow = tokio::spawn(async move { slow.call_tool(tool("wait")).await });
    settle().await;

    let arguments = serde_json::json!({ "n": 1 }).as_object().cloned().unwrap();
    let echo = CallToolRequestParams::new("echo").with_arguments(arguments);
    let quick = service.call_tool(echo).await.unwrap();
    rig.workshop.gate.0.add_permits(1);

    assert_eq!(quick.content[0].as_text().unwrap().text, r#"{"n":1}"#);
    assert_eq!(slow.await.unwrap().unwrap().content[0].as_text().unwrap().text, "waited");
}
