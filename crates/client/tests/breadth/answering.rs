//! The server's questions: each kind has its handler, and every question gets an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ridethrough::event::{Answer, Delivered, Refusal};
use ridethrough::model::{Elicited, Root, SamplingResult};
use ridethrough::{Client, ClientBuilder, Json};
use ridethrough_lab::{Ask, Protocol, Times, When};
use serde_json::{Value, json};

use crate::rig::{Rig, secs, text};

#[tokio::test(start_paused = true)]
async fn a_conversation_is_continued_by_our_model() {
    let messages = json!([{"role": "user", "content": {"type": "text", "text": "2+2?"}}]);
    let params = json!({"messages": messages, "maxTokens": 5, "systemPrompt": "be short"});

    let answer = asked("sampling/createMessage", params, |builder| {
        builder.on_sampling(|request| async move {
            assert_eq!(request.system_prompt.as_deref(), Some("be short"));
            assert_eq!(request.max_tokens, Some(5));
            let question = request.messages[0].content[0].as_text().unwrap();
            Ok(SamplingResult::text("m", format!("{question} 4")))
        })
    })
    .await;

    assert_eq!(
        answer["result"],
        json!({
            "role": "assistant", "content": {"type": "text", "text": "2+2? 4"},
            "model": "m", "stopReason": "endTurn",
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_refusal_reaches_the_server_with_its_code_and_words() {
    let answer = asked("sampling/createMessage", json!({"messages": []}), |builder| {
        builder.on_sampling(|_| async { Err(Refusal::new("the user said no")) })
    })
    .await;

    assert_eq!(answer["error"], json!({"code": -1, "message": "the user said no"}));
}

#[tokio::test(start_paused = true)]
async fn a_form_is_filled_in_and_its_defaults_are_ours_to_add() {
    let schema = json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "Ann"}, "age": {"type": "integer", "default": 7},
    }});
    let params = json!({"message": "who?", "requestedSchema": schema});

    let answer = asked("elicitation/create", params, |builder| {
        builder.on_form(|form| async move {
            assert_eq!(form.message, "who?");
            Elicited::Accepted(Json::new(r#"{"age":8}"#).unwrap())
        })
    })
    .await;

    assert_eq!(answer["result"], json!({"action": "accept", "content": {"age": 8, "name": "Ann"}}));
}

#[tokio::test(start_paused = true)]
async fn a_form_that_is_filled_in_with_no_object_is_our_error_and_says_so() {
    let answer = asked("elicitation/create", json!({"message": "who?"}), |builder| {
        builder.on_form(|_| async { Elicited::filled_in(json!([7])) })
    })
    .await;

    assert_eq!(answer["error"]["code"], -32603);
}

#[tokio::test(start_paused = true)]
async fn a_person_is_sent_to_a_url() {
    let params = json!({"mode": "url", "message": "log in", "url": "https://a.example/", "elicitationId": "e"});

    let answer = asked("elicitation/create", params, |builder| {
        builder.on_url(|request| async move {
            assert_eq!((&*request.url, &*request.elicitation_id), ("https://a.example/", "e"));
            Elicited::accepted()
        })
    })
    .await;

    assert_eq!(answer["result"], json!({"action": "accept"}));
}

#[tokio::test(start_paused = true)]
async fn a_mode_of_elicitation_without_a_handler_is_refused_as_invalid() {
    let url = json!({"mode": "url", "message": "m", "url": "https://a.example/"});
    let form = json!({"mode": "form", "message": "m", "requestedSchema": {}});
    let odd = json!({"mode": "dream", "message": "m"});
    let forms = |builder: ClientBuilder| builder.on_form(|_| async { Elicited::Declined });
    let urls = |builder: ClientBuilder| builder.on_url(|_| async { Elicited::Declined });

    for answer in [
        asked("elicitation/create", url, forms).await,
        asked("elicitation/create", form, urls).await,
        asked("elicitation/create", odd, forms).await,
    ] {
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn params_of_another_form_are_refused_as_invalid() {
    let answer = asked("sampling/createMessage", json!({"messages": 7}), |builder| {
        builder.on_sampling(|_| async { Ok(SamplingResult::text("m", "t")) })
    })
    .await;

    assert_eq!(answer["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn roots_are_told_and_a_change_is_announced() {
    let rig = Rig::over(Protocol::Http1);
    let client = rig.builder().roots([Root::new("file:///a").named("a")]).build().unwrap();
    asking(&rig, "roots/list", Value::Null);

    client.call_tool("ask", ()).await.unwrap();
    client.set_roots([Root::new("file:///b")]);
    client.call_tool("ask", ()).await.unwrap();

    let answers = answers(&rig);
    assert_eq!(answers[0]["result"], json!({"roots": [{"uri": "file:///a", "name": "a"}]}));
    assert_eq!(answers[1]["result"], json!({"roots": [{"uri": "file:///b"}]}));
    assert_eq!(rig.count(When::notification("notifications/roots/list_changed")), 1);
}

#[tokio::test(start_paused = true)]
async fn roots_that_change_before_there_is_a_session_need_no_announcement() {
    let rig = Rig::over(Protocol::Http1);
    let client = rig.builder().roots([]).build().unwrap();
    asking(&rig, "roots/list", Value::Null);

    client.set_roots([Root::new("file:///b")]);
    client.call_tool("ask", ()).await.unwrap();

    assert_eq!(answers(&rig)[0]["result"], json!({"roots": [{"uri": "file:///b"}]}));
    assert_eq!(rig.count(When::notification("notifications/roots/list_changed")), 0);
}

#[tokio::test(start_paused = true)]
async fn a_ping_is_answered_by_the_client_itself() {
    let answer = asked("ping", Value::Null, |builder| builder).await;

    assert_eq!(answer["result"], json!({}));
}

#[tokio::test(start_paused = true)]
async fn what_nobody_answers_is_refused_as_unknown() {
    for method in ["sampling/createMessage", "elicitation/create", "roots/list", "own/method"] {
        let answer = asked(method, Value::Null, |builder| builder).await;

        assert_eq!(answer["error"]["code"], -32601, "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_of_another_name_has_the_handler_of_that_name() {
    let answer = asked("own/method", json!({"a": 1}), |builder| {
        builder.on_request("own/method", |params| async move { Ok(params.unwrap()) })
    })
    .await;

    assert_eq!(answer["result"], json!({"a": 1}));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_is_answered_for_and_the_client_lives() {
    let rig = Rig::over(Protocol::Http1);
    let client = rig
        .builder()
        .on_request("at/once", |_| -> std::future::Ready<Result<Json, Refusal>> {
            panic!("as planned")
        })
        .on_request("later", |_| async { panic!("as planned") })
        .build()
        .unwrap();

    for method in ["at/once", "later"] {
        rig.mcp.clear_rules();
        asking(&rig, method, Value::Null);
        client.call_tool("ask", ()).await.unwrap();
    }

    let answers = answers(&rig);
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().all(|answer| answer["error"]["code"] == -32603), "{answers:?}");
}

/// The work of a handler before it returns its future belongs to the question's task, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_handler_that_blocks_before_it_gives_a_future_holds_up_no_call() {
    let rig = Rig::over(Protocol::Http1);
    let (release, released) = std::sync::mpsc::channel::<()>();
    let (begun, mut has_begun) = tokio::sync::mpsc::unbounded_channel();
    let released = std::sync::Mutex::new(released);
    let client = rig
        .builder()
        .on_request("own/method", move |_| {
            begun.send(()).unwrap();
            let _ = released.lock().unwrap().recv_timeout(secs(5));
            std::future::ready(Ok(Json::empty_object()))
        })
        .build()
        .unwrap();
    asking(&rig, "own/method", Value::Null);

    let call = tokio::spawn(client.call_tool("ask", ()).into_future());
    has_begun.recv().await.unwrap();
    let status = tokio::time::timeout(secs(2), client.status()).await;
    release.send(()).unwrap();

    assert!(status.is_ok(), "the link stood still");
    call.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_holds_up_neither_other_questions_nor_calls() {
    let rig = Rig::over(Protocol::Http1);
    let client = rig
        .builder()
        .on_form(|_| async {
            tokio::time::sleep(secs(3600)).await;
            Elicited::Declined
        })
        .roots([])
        .build()
        .unwrap();
    rig.mcp.rule(When::tool("slow"), Times::Once, |ask| async {
        let mut sse = ask.sse().await;
        sse.message(None, &question("q1", "elicitation/create", json!({"message": "m"}))).await;
        sse.message(None, &question("q2", "roots/list", Value::Null)).await;
        sse.gone().await;
    });

    let slow = tokio::spawn(client.call_tool("slow", ()).into_future());
    tokio::time::sleep(secs(1)).await;
    client.call_tool("echo", ()).await.unwrap();

    let answers = answers(&rig);
    assert_eq!((answers.len(), &answers[0]["id"]), (1, &json!("q2")));
    slow.abort();
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_dropped_when_nobody_wants_its_answer_any_more() {
    let (rig, client, is_dropped) = with_a_handler_that_never_ends();
    rig.mcp.rule(When::tool("slow"), Times::Once, |ask| async {
        let mut sse = ask.sse().await;
        sse.message(None, &question("q", "elicitation/create", json!({"message": "m"}))).await;
        tokio::time::sleep(secs(2)).await;
        sse.answer_and_finish(text("never mind")).await;
    });

    client.call_tool("slow", ()).await.unwrap();
    tokio::time::sleep(secs(1)).await;

    assert!(is_dropped.load(Ordering::Relaxed));
    assert!(answers(&rig).is_empty());
}

#[tokio::test(start_paused = true)]
async fn handlers_end_with_their_client() {
    let (rig, client, is_dropped) = with_a_handler_that_never_ends();
    asking(&rig, "elicitation/create", json!({"message": "m"}));

    let call = tokio::time::timeout(secs(5), client.call_tool("ask", ()).into_future()).await;
    drop((call, client));
    tokio::time::sleep(secs(1)).await;

    assert!(is_dropped.load(Ordering::Relaxed));
}

#[tokio::test(start_paused = true)]
async fn the_inbox_has_the_questions_that_no_handler_takes() {
    let rig = Rig::over(Protocol::Http1);
    let client = rig.builder().roots([]).build().unwrap();
    let mut inbox = client.inbox();
    rig.mcp.rule(When::tool("both"), Times::Once, |ask| async {
        let mut sse = ask.sse().await;
        sse.message(None, &question("q1", "roots/list", Value::Null)).await;
        sse.message(None, &question("q2", "own/method", Value::Null)).await;
        tokio::time::sleep(secs(2)).await;
        sse.answer_and_finish(text("done")).await;
    });

    let call = tokio::spawn(client.call_tool("both", ()).into_future());
    let Some(Delivered::Question { question, method, .. }) = inbox.next().await else { panic!() };
    inbox.answer(question, Answer::Result(Json::empty_object()));
    call.await.unwrap().unwrap();

    assert_eq!(&*method, "own/method");
    assert_eq!(answers(&rig).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn handlers_say_by_themselves_that_they_are_there() {
    let plain = capabilities(|builder| builder).await;
    let forms = capabilities(|builder| builder.on_form(|_| async { Elicited::Declined })).await;
    let all = capabilities(|builder| {
        builder
            .on_form(|_| async { Elicited::Declined })
            .on_url(|_| async { Elicited::Declined })
            .on_sampling(|_| async { Ok(SamplingResult::text("m", "t")) })
            .roots([])
            .capabilities(json!({"sampling": {"tools": {}}, "experimental": {}}))
    })
    .await;

    assert_eq!(plain, json!({}));
    assert_eq!(forms, json!({"elicitation": {"form": {}}}));
    assert_eq!(
        all,
        json!({
            "sampling": {"tools": {}}, "experimental": {},
            "elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": true},
        })
    );
}

/// Returns a client whose form is never filled in, and whether its handler was dropped.
fn with_a_handler_that_never_ends() -> (Rig, Client, Arc<AtomicBool>) {
    struct Guard(Arc<AtomicBool>);

    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    let rig = Rig::over(Protocol::Http1);
    let is_dropped = Arc::new(AtomicBool::new(false));
    let told = is_dropped.clone();
    let handler = move |_| {
        let guard = Guard(told.clone());
        async move {
            std::future::pending::<()>().await;
            drop(guard);
            Elicited::Declined
        }
    };
    let client = rig.builder().on_form(handler).build().unwrap();
    (rig, client, is_dropped)
}

/// Asks one question in the middle of a call, and returns the answer that the server gets.
async fn asked(
    method: &'static str,
    params: Value,
    set_up: impl FnOnce(ClientBuilder) -> ClientBuilder,
) -> Value {
    let rig = Rig::over(Protocol::Http1);
    let client: Client = set_up(rig.builder()).build().unwrap();
    asking(&rig, method, params);
    client.call_tool("ask", ()).await.unwrap();
    let answers = answers(&rig);
    assert_eq!(answers.len(), 1, "each question has one answer");
    answers.into_iter().next().unwrap()
}

/// Adds a tool that asks this question and ends when it has an answer.
fn asking(rig: &Rig, method: &'static str, params: Value) {
    rig.mcp.rule(When::tool("ask"), Times::Always, move |ask: Ask| {
        let message = question("q", method, params.clone());
        async move {
            let mcp = ask.mcp().clone();
            let before = mcp.count(&When::response());
            let mut sse = ask.sse().await;
            sse.message(None, &message).await;
            while mcp.count(&When::response()) == before {
                tokio::time::sleep(secs(1)).await;
            }
            sse.answer_and_finish(text("done")).await;
        }
    });
}

fn question(id: &str, method: &str, params: Value) -> Value {
    match params {
        Value::Null => json!({"jsonrpc": "2.0", "id": id, "method": method}),
        params => json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}),
    }
}

/// Returns all answers that the server got.
fn answers(rig: &Rig) -> Vec<Value> {
    let log = rig.mcp.log();
    let answers = log.iter().filter(|entry| When::response().holds(entry));
    answers.map(|entry| serde_json::from_slice(&entry.body).unwrap()).collect()
}

async fn capabilities(set_up: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Value {
    let rig = Rig::over(Protocol::Http1);
    set_up(rig.builder()).build().unwrap().connect().await.unwrap();
    let log = rig.mcp.log();
    let initialize = log.iter().find(|entry| When::method("initialize").holds(entry)).unwrap();
    let message: Value = serde_json::from_slice(&initialize.body).unwrap();
    message["params"]["capabilities"].clone()
}
