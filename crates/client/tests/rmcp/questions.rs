//! Questions of the server to `rmcp`'s handler, on their way through the link.

use rmcp::ServiceExt;
use rmcp::model::{CallToolRequest, ClientRequest};
use rmcp::service::PeerRequestOptions;

use crate::front::{Asked, Fault};
use crate::guest::Guest;
use crate::rig::{Polling, Rig, post, settle, tool};

#[tokio::test(start_paused = true)]
async fn sampling_roots_and_elicitation_are_answered_by_the_handler() {
    let rig = Rig::new(Polling::Asked);
    let (service, _) = rig.served().await;

    let mut answers = Vec::new();
    for name in ["ask", "roots", "elicit"] {
        let result = service.call_tool(tool(name)).await.unwrap();
        answers.push(result.content[0].as_text().unwrap().text.clone());
    }

    let name = r#"Some(Object {"name": String("Ada")})"#;
    assert_eq!(answers, ["model-1", "file:///home", name]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_the_server_refuses_for_a_moment_still_arrives() {
    let rig = Rig::new(Polling::Asked);
    let (service, _) = rig.served().await;
    rig.front.rule(post(""), Fault::Refuse(503, Some(1)), 2);

    let result = service.call_tool(tool("ask")).await.unwrap();

    assert_eq!(result.content[0].as_text().unwrap().text, "model-1");
    assert_eq!(rig.front.count(&Asked::Post(String::new())), 3);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_waits_for_any_more_is_withdrawn_from_the_handler() {
    let rig = Rig::new(Polling::Asked);
    let guest = Guest::hesitant();
    let service = guest.clone().serve(rig.builder().build().unwrap()).await.unwrap();
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(tool("ask")));
    let options = PeerRequestOptions::no_options();
    let call = service.send_cancellable_request(request, options).await.unwrap();
    settle().await;

    call.cancel(None).await.unwrap();
    settle().await;

    assert_eq!(guest.heard(), ["asked for a message", "the question was withdrawn"]);
    assert_eq!(rig.front.count(&post("")), 0);
}
