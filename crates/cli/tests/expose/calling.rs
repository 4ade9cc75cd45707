//! The client and the commands of this project, against an exposed server.

use std::sync::{Arc, Mutex};

use ridethrough::model::SamplingResult;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::{Duration, sleep, timeout};

use crate::rig::{PATIENCE, Rig, binary};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_progress_questions_and_news_pass() {
    let rig = Rig::new(json!({})).await;
    let client = rig
        .builder(&rig.url)
        .on_sampling(|_| async { Ok(SamplingResult::text("m", "four")) })
        .build()
        .unwrap();
    let mut news = client.notifications();
    let steps = Arc::<Mutex<usize>>::default();
    let seen = steps.clone();

    let done = client
        .call_tool("progresses", json!({}))
        .on_progress(move |_| *seen.lock().unwrap() += 1)
        .await
        .unwrap();
    let asked = client.request("tools/call", json!({"name": "asks"})).await.unwrap();
    client.call_tool("changes", json!({})).await.unwrap();

    assert_eq!((done.text(), *steps.lock().unwrap()), ("did progresses".to_owned(), 20));
    assert!(asked.as_str().contains("four"), "{}", asked.as_str());
    client.keep_connected();
    let told = timeout(PATIENCE, news.next()).await.unwrap().unwrap();
    assert_eq!(format!("{told:?}"), "ToolsChanged");
    client.close().await;
    rig.eventually("the server has left", || rig.entries("eof").len() == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_without_a_preference_share_a_server_and_everything_passes_without_sessions() {
    let rig = Rig::new(json!({})).await;
    let build = || {
        rig.builder_without_preference(&rig.url)
            .on_sampling(|_| async { Ok(SamplingResult::text("m", "four")) })
            .build()
            .unwrap()
    };
    let (one, two) = (build(), build());
    let mut news = two.notifications();
    two.keep_connected();
    let steps = Arc::<Mutex<usize>>::default();
    let seen = steps.clone();

    let done = one
        .call_tool("progresses", json!({}))
        .on_progress(move |_| *seen.lock().unwrap() += 1)
        .await
        .unwrap();
    let asked = two.request("tools/call", json!({"name": "asks"})).await.unwrap();
    one.call_tool("changes", json!({})).await.unwrap();

    assert_eq!((done.text(), *steps.lock().unwrap()), ("did progresses".to_owned(), 20));
    assert!(asked.as_str().contains("four"), "{}", asked.as_str());
    let told = timeout(PATIENCE, news.next()).await.unwrap().unwrap();
    assert_eq!(format!("{told:?}"), "ToolsChanged");
    assert_eq!(rig.pids("start").len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_clients_have_a_server_each() {
    let rig = Rig::new(json!({})).await;
    let (one, two) = (rig.client(), rig.client());

    let pid = async |client: &ridethrough::Client| {
        let result = client.request("tools/call", json!({"name": "echo"})).await.unwrap();
        result.read::<serde_json::Value>().unwrap()["structuredContent"]["pid"].clone()
    };

    assert_ne!(pid(&one).await, pid(&two).await);
    assert_eq!(pid(&one).await, pid(&one).await);
    assert_eq!(rig.pids("start").len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_connections_are_cut_runs_once_and_is_answered() {
    let rig = Rig::new(json!({})).await;
    let relay = Relay::to(rig.port()).await;
    let client = rig.builder(&relay.url).build().unwrap();

    let call = client.call_tool("sleeps", json!({})).into_future();
    rig.eventually("it runs", || rig.entries("ran sleeps").len() == 1).await;
    for _ in 0..2 {
        sleep(Duration::from_millis(700)).await;
        relay.cut();
    }

    assert_eq!(call.await.unwrap().text(), "did sleeps");
    assert_eq!((rig.entries("ran sleeps").len(), rig.pids("start").len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_own_commands_take_the_line_that_is_told() {
    let rig = Rig::new(json!({})).await;
    let said = rig.said();
    let line = said.lines().find_map(|line| line.trim().strip_prefix("ridethrough ")).unwrap();

    let output =
        binary().args(line.split(' ')).env("EXPOSE_TOKEN", &rig.token).output().await.unwrap();

    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && printed.contains("echo"), "{printed}");
}

/// A relay whose connections can be cut.
struct Relay {
    url: String,
    open: Arc<Mutex<Vec<AbortHandle>>>,
}

impl Relay {
    async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://127.0.0.1:{}/mcp", listener.local_addr().unwrap().port());
        let open = Arc::<Mutex<Vec<AbortHandle>>>::default();
        let all = open.clone();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let relayed = tokio::spawn(async move {
                    let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                    // The test cuts the connection on purpose, so an error is expected.
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                });
                all.lock().unwrap().push(relayed.abort_handle());
            }
        });
        Self { url, open }
    }

    fn cut(&self) {
        self.open.lock().unwrap().drain(..).for_each(|it| it.abort());
    }
}
