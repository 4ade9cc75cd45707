//! A host on lines: both eras, cancels, limits, and its end.

use std::time::Duration;

use ridethrough_server::{Settings, serve_lines};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::rig::{Puppet, Stage, able};

#[tokio::test(start_paused = true)]
async fn one_host_speaks_both_eras() {
    let mut rig = LineRig::new().await;

    rig.write(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}))
        .await;
    rig.write(stateless(2, "tools/call", json!({"name": "b"}))).await;
    let mut shared = rig.puppet().await;
    shared.greet(json!({})).await;

    let of_session = rig.session.hear().await;
    assert_eq!((&of_session["id"], &of_session["params"]["name"]), (&json!(1), &json!("a")));
    let of_shared = shared.hear().await;
    assert_eq!(of_shared["params"], json!({"name": "b"}), "what is said of the sender stays here");
    shared.answer(&of_shared["id"], json!({"content": []})).await;
    let answer = rig.read().await.unwrap();
    assert_eq!((&answer["id"], &answer["result"]["resultType"]), (&json!(2), &json!("complete")));
    rig.session.answer(&json!(1), json!({"content": []})).await;
    assert_eq!(
        rig.read().await.unwrap(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {"content": []}})
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_stateless_request_lacks_is_told_before_anything_is_opened() {
    let mut rig = LineRig::new().await;

    for (request, code) in [
        (json!({"id": 1, "method": "server/discover"}), -32602),
        (json!({"id": 1, "method": "subscriptions/listen", "params": {}}), -32602),
        (lacking(stateless(1, "tools/call", json!({})), CAPABILITIES), -32602),
        (renamed(stateless(1, "tools/call", json!({})), "2099-01-01"), -32022),
        (stateless(1, "ping", json!({})), -32601),
        (stateless(1, "initialize", json!({})), -32601),
    ] {
        rig.write(request.clone()).await;

        let answer = rig.read().await.unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(1), &json!(code)),
            "{request}"
        );
    }
    assert!(rig.puppets.try_recv().is_err(), "nothing was opened");
}

#[tokio::test(start_paused = true)]
async fn progress_comes_before_the_answer_and_a_question_ends_a_round() {
    let mut rig = LineRig::new().await;
    let (mut shared, heard) =
        rig.calling(1, able(json!({"name": "t", "_meta": {"progressToken": "p"}}))).await;

    let token = &heard["params"]["_meta"]["progressToken"];
    shared.notify("notifications/progress", json!({"progressToken": token, "progress": 1})).await;
    shared.ask("q").await;

    let progress = rig.read().await.unwrap();
    assert_eq!(progress["params"], json!({"progressToken": "p", "progress": 1}));
    let asked = rig.read().await.unwrap();
    assert_eq!(asked["result"]["resultType"], "input_required");
    let mut again = able(json!({"name": "t", "inputResponses": {"1": {"action": "accept"}}}));
    again["requestState"] = asked["result"]["requestState"].clone();
    rig.write(stateless(2, "tools/call", again)).await;
    assert_eq!(shared.hear().await["result"], json!({"action": "accept"}));
    shared.answer(&heard["id"], json!({"done": true})).await;
    let done = rig.read().await.unwrap();
    assert_eq!((&done["id"], &done["result"]["done"]), (&json!(2), &json!(true)));
}

#[tokio::test(start_paused = true)]
async fn a_stateless_call_is_cancelled_by_an_id_that_means_its_own_and_a_call_of_the_session_is_not()
 {
    let mut rig = LineRig::new().await;
    rig.write(stateless(7, "tools/call", json!({"name": "t"}))).await;
    let mut shared = rig.puppet().await;
    shared.greet(json!({})).await;
    let heard = shared.hear().await;

    rig.write(cancelled(json!(7.0))).await;
    rig.write(cancelled(json!(8))).await;

    let told = shared.hear().await;
    assert_eq!(
        (&told["method"], &told["params"]["requestId"]),
        (&json!("notifications/cancelled"), &heard["id"])
    );
    assert_eq!(rig.session.hear().await["params"]["requestId"], 8);
    assert_eq!(rig.read_now().await, None, "a cancelled call has no answer");
}

#[tokio::test(start_paused = true)]
async fn a_listener_is_told_of_changes_until_it_is_cancelled() {
    let mut rig = LineRig::new().await;
    rig.write(stateless(
        "l",
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true}}),
    ))
    .await;
    let mut shared = rig.puppet().await;
    shared.greet(json!({"tools": {"listChanged": true}})).await;
    assert_eq!(rig.read().await.unwrap()["method"], "notifications/subscriptions/acknowledged");

    shared.notify("notifications/tools/list_changed", json!({})).await;
    assert_eq!(rig.read().await.unwrap()["method"], "notifications/tools/list_changed");
    rig.write(cancelled(json!("l"))).await;
    assert_eq!(rig.read_now().await, None);
    shared.notify("notifications/tools/list_changed", json!({})).await;

    assert_eq!(rig.read_now().await, None, "it listens no more");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_closes_its_end_has_its_answers_and_is_not_waited_for_as_a_listener() {
    let mut rig = LineRig::new().await;
    let (shared, heard) = rig.calling(1, json!({"name": "t"})).await;
    rig.write(stateless("l", "subscriptions/listen", json!({"notifications": {}}))).await;
    rig.read().await.unwrap();

    rig.writer.shutdown().await.unwrap();
    shared.answer(&heard["id"], json!({"content": []})).await;

    assert_eq!(rig.read().await.unwrap()["id"], 1);
    assert_eq!(rig.read().await, None);
    drop(shared);
    timeout(Duration::from_secs(60), rig.serving).await.unwrap().unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_stands_before_the_end_is_a_line_and_what_is_no_message_is_answered() {
    let mut rig = LineRig::new().await;

    rig.write_text(
        "{\"id\":1,\"method\":\"ping\"}\n{\"id\":2}\n\n[]\n{\"id\":3,\"method\":\"ping\"}",
    )
    .await;
    rig.writer.shutdown().await.unwrap();

    assert_eq!(rig.session.hear().await["id"], 1);
    assert_eq!(rig.session.hear().await["id"], 3);
    for id in [json!(2), json!(null)] {
        let refused = rig.read().await.unwrap();
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&id, &json!(-32600)));
    }
    rig.session.answer(&json!(1), json!({})).await;
    rig.session.answer(&json!(3), json!({})).await;
    assert_eq!(rig.read().await.unwrap()["id"], 1);
    assert_eq!(rig.read().await.unwrap()["id"], 3);
    assert_eq!(rig.read().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_too_large_is_answered_under_its_own_id_and_not_passed_on() {
    let mut rig = LineRig::new().await;
    let large = "x".repeat(17 << 20);

    let host = async {
        let params = json!({"name": large});
        rig.write(json!({"id": 1, "method": "tools/call", "params": params})).await;
        rig.write(json!({"method": "notifications/x", "params": params})).await;
        rig.write(json!({"id": 2, "method": "ping"})).await;
        rig.read().await.unwrap()
    };
    let refused = host.await;

    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(1), &json!(-32600)));
    assert_eq!(rig.session.hear().await["id"], 2);
}

/// A host, and the backend behind its lines.
struct LineRig {
    /// The backend's side of the session.
    session: Puppet,
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    puppets: mpsc::UnboundedReceiver<Puppet>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl LineRig {
    async fn new() -> Self {
        let (stage, mut puppets) = Stage::new();
        let (host, door) = duplex(64 * 1024);
        let (theirs, to_host) = split(door);
        let serving =
            tokio::spawn(serve_lines(stage, Settings::default(), |_| {}, theirs, to_host));
        let (reader, writer) = split(host);
        {
            let session = puppets.recv().await.unwrap();
            Self { session, reader: BufReader::new(reader), writer, puppets, serving }
        }
    }

    /// Returns the next conversation that was opened.
    async fn puppet(&mut self) -> Puppet {
        timeout(Duration::from_secs(600), self.puppets.recv())
            .await
            .expect("nothing was opened")
            .unwrap()
    }

    /// Begins a stateless call. Returns the conversation, and the call as it came there.
    async fn calling(&mut self, id: u64, params: Value) -> (Puppet, Value) {
        self.write(stateless(id, "tools/call", params)).await;
        let mut shared = self.puppet().await;
        shared.greet(json!({})).await;
        let heard = shared.hear().await;
        (shared, heard)
    }

    async fn write(&mut self, message: Value) {
        self.write_text(&format!("{message}\n")).await;
    }

    async fn write_text(&mut self, text: &str) {
        self.writer.write_all(text.as_bytes()).await.unwrap();
    }

    /// Returns the next message to the host; `None` at the end.
    async fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        let reading = timeout(Duration::from_secs(3600), self.reader.read_line(&mut line)).await;
        reading.expect("nothing comes").unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Returns the next message, if there is one already.
    async fn read_now(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = timeout(Duration::from_secs(1), self.reader.read_line(&mut line)).await;
        read.is_ok().then(|| serde_json::from_str(&line).unwrap())
    }
}

/// Returns a request of the stateless revision.
fn stateless(id: impl Into<Value>, method: &str, mut params: Value) -> Value {
    params["_meta"][VERSION] = "2026-07-28".into();
    if params["_meta"][CAPABILITIES].is_null() {
        params["_meta"][CAPABILITIES] = json!({});
    }
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

fn lacking(mut request: Value, key: &str) -> Value {
    request["params"]["_meta"].as_object_mut().unwrap().remove(key);
    request
}

fn renamed(mut request: Value, revision: &str) -> Value {
    request["params"]["_meta"][VERSION] = revision.into();
    request
}

fn cancelled(id: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
