//! The transport alone: the tests take the place of the driver.

use ridethrough_core::{Delivered, Kind, QuestionId};
use ridethrough_wire::message::{Answer, Json};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, JsonRpcMessage,
    RequestId, ServerNotification,
};
use rmcp::transport::Transport;
use tokio::sync::mpsc::unbounded_channel;

use super::*;
use crate::driver::{Caller, CommandReceiver, DriverCommand};
use crate::observe::Observers;

#[tokio::test]
async fn what_the_server_said_before_its_answer_is_handed_over_before_it() {
    let mut stage = Stage::new();
    let caller = stage.ask(1).await;

    stage.say("notifications/x", None);
    caller.reply.send(Ok(result()).into()).unwrap();

    assert!(matches!(stage.transport.receive().await, Some(JsonRpcMessage::Notification(_))));
    assert!(matches!(stage.transport.receive().await, Some(JsonRpcMessage::Response(_))));
}

#[tokio::test]
async fn a_server_that_never_stops_talking_holds_up_no_answer() {
    let mut stage = Stage::new();
    let caller = stage.ask(1).await;
    for _ in 0..1000 {
        stage.say("notifications/x", None);
    }
    caller.reply.send(Ok(result()).into()).unwrap();

    let mut said_before = 0;
    while let Some(JsonRpcMessage::Notification(_)) = stage.transport.receive().await {
        said_before += 1;
    }

    assert_eq!(said_before, CROWD);
}

#[tokio::test]
async fn nothing_is_heard_of_a_cancelled_call_though_its_answer_is_there() {
    let mut stage = Stage::new();
    let cancelled = stage.ask(1).await;
    let other = stage.ask(2).await;
    cancelled.reply.send(Ok(result()).into()).unwrap();
    other.reply.send(Ok(result()).into()).unwrap();

    stage.transport.calls.cancel(&RequestId::Number(1));

    let Some(JsonRpcMessage::Response(answer)) = stage.transport.receive().await else {
        panic!("no answer")
    };
    assert_eq!(answer.id, RequestId::Number(2));
    assert!(stage.transport.calls.is_empty());
}

/// The server's ids and the link's numbers of its questions differ: its cancellation could hit a question
/// that is still wanted.
#[tokio::test]
async fn a_cancel_of_the_servers_is_told_by_our_number_of_the_question_only() {
    let mut stage = Stage::new();

    stage.say("notifications/cancelled", Some(r#"{"requestId":7}"#));
    stage.deliver(Delivered::Withdrawn { question: QuestionId::new(3) });

    let Some(JsonRpcMessage::Notification(told)) = stage.transport.receive().await else {
        panic!("nothing was told")
    };
    let ServerNotification::CancelledNotification(cancelled) = told.notification else {
        panic!("something else was told")
    };
    assert_eq!(cancelled.params.request_id, Some(RequestId::Number(3)));
}

#[tokio::test]
async fn an_answer_that_rmcp_cannot_read_is_an_error_and_not_silence() {
    let mut stage = Stage::new();
    let caller = stage.ask(1).await;
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));

    caller.reply.send(Ok(Answer::Result(Json::new(deep).unwrap())).into()).unwrap();

    let Some(JsonRpcMessage::Error(error)) = stage.transport.receive().await else {
        panic!("no error")
    };
    let facts = Facts::of(&error.error).unwrap();
    assert_eq!(error.id, Some(RequestId::Number(1)));
    assert_eq!((facts.kind, facts.may_have_run), (Kind::PeerMisbehaved, true));
}

#[tokio::test]
async fn an_error_without_words_still_reaches_its_caller() {
    let mut stage = Stage::new();
    let caller = stage.ask(1).await;

    caller.reply.send(Ok(Answer::Error(Json::new(r#"{"code":-7}"#).unwrap())).into()).unwrap();

    let Some(JsonRpcMessage::Error(error)) = stage.transport.receive().await else {
        panic!("no error")
    };
    assert_eq!((error.id, error.error.code.0), (Some(RequestId::Number(1)), -7));
}

#[tokio::test]
async fn the_end_of_the_client_is_told_after_the_end_of_every_call() {
    let mut stage = Stage::new();
    let caller = stage.ask(1).await;
    let Stage { mut transport, inbox, commands: _commands } = stage;

    drop(inbox);
    caller.reply.send(Ok(result()).into()).unwrap();

    assert!(matches!(transport.receive().await, Some(JsonRpcMessage::Response(_))));
    assert!(transport.receive().await.is_none());
}

/// A transport, and what its driver would hold.
struct Stage {
    transport: ClientTransport,
    commands: CommandReceiver,
    inbox: crate::driver::Mailbox,
}

impl Stage {
    fn new() -> Self {
        let (sender, mut commands) = unbounded_channel();
        let (_, lookout) = Observers::new("http://localhost".to_owned(), None);
        let transport = ClientTransport::new(Client::from_parts(sender, lookout, None));
        let Ok(DriverCommand::Inbox(inbox, _)) = commands.try_recv().map(|it| *it) else {
            panic!("no inbox was wished for")
        };
        Self { transport, commands, inbox }
    }

    /// Sends a call as `rmcp` does, and returns its caller.
    async fn ask(&mut self, id: i64) -> Caller {
        let call = CallToolRequest::new(CallToolRequestParams::new("echo"));
        let request = ClientRequest::CallToolRequest(call);
        let message = ClientJsonRpcMessage::request(request, RequestId::Number(id));
        self.transport.send(message).await.unwrap();
        let Ok(DriverCommand::Send { caller, .. }) = self.commands.try_recv().map(|it| *it) else {
            panic!("nothing sent")
        };
        caller
    }

    fn say(&self, method: &str, params: Option<&'static str>) {
        let params = params.map(|params| Json::new(params).unwrap());
        self.deliver(Delivered::Notification { exchange: None, method: method.into(), params });
    }

    fn deliver(&self, delivered: Delivered) {
        assert!(self.inbox.put(delivered, usize::MAX).is_ok());
    }
}

fn result() -> Answer {
    Answer::Result(Json::new(r#"{"content":[]}"#).unwrap())
}
