//! The client of this project as the client, in either era: all features together, through faults.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ridethrough::credentials::StaticToken;
use ridethrough::model::SamplingResult;
use ridethrough::transport::{Connection, Dial, Endpoint, Failure, Peek};
use ridethrough::{Client, ClientBuilder, Era};
use ridethrough_expose::{BoxFuture, Exposed};
use serde_json::{Value, json};
use tokio::io::duplex;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::rig::{Puppet, Rig, TOKEN};

#[tokio::test(start_paused = true)]
async fn calls_and_their_progress_pass() {
    for era in ERAS {
        let (mut rig, pipes) = rig();
        let client = pipes.client(era).build().unwrap();
        let steps = Arc::<Mutex<Vec<_>>>::default();
        let seen = steps.clone();

        let call = client
            .request("tools/call", json!({"name": "progresses"}))
            .on_progress(move |progress| seen.lock().unwrap().push(progress.progress))
            .into_future();
        let child = tokio::spawn(serve(rig.child().await));

        assert_eq!(value(call.await)["done"], "progresses", "{era:?}");
        assert_eq!(steps.lock().unwrap().len(), 3, "{era:?}");
        client.close().await;
        rig.exposed.close().await;
        assert_eq!(child.await.unwrap(), ["progresses"], "{era:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_servers_questions_are_answered() {
    for era in ERAS {
        let (mut rig, pipes) = rig();
        let client = pipes
            .client(era)
            .on_sampling(|_| async { Ok(SamplingResult::text("m", "four")) })
            .build()
            .unwrap();

        let call = client.request("tools/call", json!({"name": "asks"})).into_future();
        let child = tokio::spawn(serve(rig.child().await));

        assert_eq!(value(call.await)["content"]["text"], "four", "{era:?}");
        rig.exposed.close().await;
        assert_eq!(child.await.unwrap(), ["asks"], "{era:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_server_says_by_itself_is_heard() {
    for era in ERAS {
        let (mut rig, pipes) = rig();
        let client = pipes.client(era).build().unwrap();
        let mut heard = client.notifications();
        client.keep_connected();
        // The client asks for the subscription when there is a connection.
        let first = client.request("tools/call", json!({"name": "echo"})).into_future();
        tokio::spawn(serve(rig.child().await));
        first.await.unwrap();
        sleep(Duration::from_secs(1)).await;

        let call = client.request("tools/call", json!({"name": "changes"})).into_future();
        call.await.unwrap();

        let told = timeout(Duration::from_secs(60), heard.next()).await.unwrap().unwrap();
        assert_eq!(format!("{told:?}"), "ToolsChanged", "{era:?}");
    }
}

/// In this revision a broken connection is a cancellation, and nothing can be resumed.
#[tokio::test(start_paused = true)]
async fn a_stateless_call_whose_connection_is_cut_is_cancelled_and_not_repeated() {
    let (mut rig, pipes) = rig();
    let client = pipes.client(Era::Modern).build().unwrap();

    let call = client.request("tools/call", json!({"name": "slow"})).into_future();
    let child = tokio::spawn(serve(rig.child().await));
    sleep(Duration::from_secs(5)).await;
    assert!(pipes.cut() > 0, "nothing was open");

    let error = call.await.unwrap_err();
    assert!(error.to_string().contains("was interrupted"), "{error}");
    rig.exposed.close().await;
    assert_eq!(child.await.unwrap(), ["slow"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_connections_are_all_cut_runs_once_and_has_its_answer_once() {
    let (mut rig, pipes) = rig();
    let client = pipes.client(Era::Legacy).build().unwrap();

    let call = client.request("tools/call", json!({"name": "slow"})).into_future();
    let child = tokio::spawn(serve(rig.child().await));
    for _ in 0..4 {
        sleep(Duration::from_secs(2)).await;
        assert!(pipes.cut() > 0, "nothing was open");
    }

    assert_eq!(value(call.await), json!({"done": "slow"}));
    client.close().await;
    assert_eq!(child.await.unwrap(), ["slow"]);
    assert_eq!(rig.starts(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_death_is_an_error_with_the_last_words_and_the_next_call_has_a_new_child() {
    for era in ERAS {
        let (mut rig, pipes) = rig();
        let client = pipes.client(era).build().unwrap();

        let call = client.request("tools/call", json!({"name": "dies"})).into_future();
        tokio::spawn(serve(rig.child().await));
        let error = call.await.unwrap_err().to_string();
        let again = client.request("tools/call", json!({"name": "echo"})).into_future();
        tokio::spawn(serve(rig.child().await));

        assert!(error.contains("out of cheese`"), "{era:?} {error}");
        assert_eq!(value(again.await)["done"], "echo", "{era:?}");
        assert_eq!(rig.starts(), 2, "{era:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_at_its_first_starts_is_waited_for() {
    for era in ERAS {
        let (mut rig, pipes) = rig();
        let client = pipes.client(era).build().unwrap();

        let call = client.request("tools/call", json!({"name": "echo"})).into_future();
        for _ in 0..3 {
            rig.child().await.die("exit status: 1", &["no key"]);
        }
        tokio::spawn(serve(rig.child().await));

        assert_eq!(value(call.await)["done"], "echo", "{era:?}");
        assert_eq!(rig.starts(), 4, "{era:?}");
    }
}

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// Runs a server that does what a tool's name says, until its stdin is closed. Returns what it ran.
async fn serve(mut child: Puppet) -> Vec<String> {
    let mut ran = Vec::new();
    while let Some(line) = child.line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        let id = message["id"].clone();
        match message["method"].as_str() {
            Some("initialize") => {
                let version = &message["params"]["protocolVersion"];
                let capabilities = json!({"tools": {"listChanged": true}});
                let info = json!({"name": "puppet", "version": "1"});
                let result = json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info});
                child.answer(id, result).await;
            }
            Some("tools/call") => {
                let name = message["params"]["name"].as_str().unwrap().to_owned();
                ran.push(name.clone());
                match &*name {
                    "dies" => {
                        child.die("exit status: 7", &["out of cheese"]);
                        return ran;
                    }
                    "asks" => {
                        let params = json!({"messages": [], "maxTokens": 5});
                        child.say(json!({"jsonrpc": "2.0", "id": "q", "method": "sampling/createMessage", "params": params})).await;
                        // Every message before the answer is a notification.
                        let answer = loop {
                            let heard = child.hear().await;
                            if heard["id"] == "q" {
                                break heard;
                            }
                        };
                        child.answer(id, answer["result"].clone()).await;
                        continue;
                    }
                    "changes" => {
                        let method = "notifications/tools/list_changed";
                        child.say(json!({"jsonrpc": "2.0", "method": method})).await;
                    }
                    "progresses" => {
                        let token = message["params"]["_meta"]["progressToken"].clone();
                        for step in 1..=3 {
                            let params = json!({"progressToken": token, "progress": step});
                            child.say(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})).await;
                        }
                    }
                    "slow" => sleep(Duration::from_secs(10)).await,
                    _ => {}
                }
                child.answer(id, json!({"done": name})).await;
            }
            Some(_) if !id.is_null() => child.answer(id, json!({})).await,
            _ => {}
        }
    }
    child.die("exit status: 0", &[]);
    ran
}

fn rig() -> (Rig, Pipes) {
    let rig = Rig::new();
    let pipes = Pipes { exposed: rig.exposed.clone(), open: Arc::default() };
    (rig, pipes)
}

/// Connections that can be cut.
#[derive(Clone)]
struct Pipes {
    exposed: Exposed,
    open: Arc<Mutex<Vec<AbortHandle>>>,
}

impl Pipes {
    fn client(&self, era: Era) -> ClientBuilder {
        let token = StaticToken::new(TOKEN).unwrap();
        let client = Client::builder("http://localhost:8808/mcp").dial(self.clone());
        client.credentials(token).eras(era)
    }

    /// Cuts all connections; returns how many there were.
    fn cut(&self) -> usize {
        let open = std::mem::take(&mut *self.open.lock().unwrap());
        open.iter().filter(|it| !it.is_finished()).inspect(|it| it.abort()).count()
    }
}

impl Dial for Pipes {
    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async {
            let (ours, theirs) = duplex(64 * 1024);
            let exposed = self.exposed.clone();
            let serving = tokio::spawn(async move { exposed.serve(theirs).await });
            self.open.lock().unwrap().push(serving.abort_handle());
            Ok(Connection::new(ours, Unseen))
        })
    }
}

struct Unseen;

impl Peek for Unseen {
    fn is_quiet(&self) -> bool {
        true
    }
}

fn value(result: Result<ridethrough::Json, ridethrough::Error>) -> Value {
    serde_json::from_slice(result.unwrap().as_bytes()).unwrap()
}
