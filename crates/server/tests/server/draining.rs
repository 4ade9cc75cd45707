//! A server that is being drained: what is new is refused, what has begun goes on, and nobody is cut off.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::duplex;
use tokio::time::{Instant, sleep};

use crate::asking::{asked, back};
use crate::rig::{Answer, Rig, ask, call, post, request, with};
use crate::serving::{begin, hello};

/// Clients believe that a call did not run if the refusal names it and says so.
#[tokio::test(start_paused = true)]
async fn what_is_new_is_refused_by_its_name_and_was_not_run() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let _running = rig.begin_to_send(call(1));
    puppet.hear().await;
    drain(&rig).await;

    for request in [post(&hello().to_string()), call(1), ask(1, "server/discover", json!({}))] {
        let mut refused = rig.send(request).await;

        assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, Some("5")));
        let body = refused.json().await;
        assert_eq!(body["id"], 1);
        assert_eq!(body["error"]["data"]["mayHaveRun"], false, "{body}");
    }
    assert_eq!(puppet.hear_now().await, None, "nothing was sent on");
    let probe = |path: &str| {
        let mut probe = request(Method::GET, "");
        *probe.uri_mut() = path.parse().unwrap();
        rig.send(probe)
    };
    let (mut alive, mut ready) = (probe("/healthz").await, probe("/readyz").await);
    assert_eq!((alive.status.as_u16(), &*alive.text().await), (200, "alive"));
    assert_eq!((ready.status.as_u16(), &*ready.text().await), (503, "stopping"));
}

#[tokio::test(start_paused = true)]
async fn sessions_go_on_and_their_connections_are_closed_behind_an_answer() {
    let mut rig = Rig::new();
    let (session, mut puppet) = begin(&mut rig).await;
    let (ours, theirs) = duplex(64 * 1024);
    let server = rig.server.clone();
    let served = tokio::spawn(async move { server.serve(theirs).await });
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(ours)).await.unwrap();
    tokio::spawn(connection);
    let mut on_it = async |request| {
        let answer = sender.send_request(request).await.unwrap();
        let close = answer.headers().get("connection").cloned();
        (close, String::from_utf8(answer.collect().await.unwrap().to_bytes().to_vec()).unwrap())
    };
    assert_eq!(on_it(notification(&session)).await, (None, String::new()));
    puppet.hear().await;
    let draining = drain(&rig).await;

    // The connection rests, and is not closed: a request may be on its way.
    sleep(Duration::from_millis(500)).await;
    let (answer, ()) = tokio::join!(on_it(tool_call(&session, 5)), async {
        let heard = puppet.hear().await;
        puppet.answer(&heard["id"], json!({"n": 5})).await;
    });

    assert_eq!(answer.0.unwrap(), "close");
    assert!(answer.1.contains(r#""n":5"#), "{}", answer.1);
    served.await.unwrap();
    for id in 6..16 {
        sleep(Duration::from_millis(900)).await;
        let (answered, ()) = tokio::join!(rig.send(tool_call(&session, id)), async {
            let heard = puppet.hear().await;
            puppet.answer(&heard["id"], json!({"n": id})).await;
        });
        assert_eq!(last(answered).await["result"]["n"], id);
    }
    let idle = Instant::now();
    assert!(draining.await.unwrap(), "all have finished");
    assert!(idle.elapsed() < Duration::from_millis(1100), "{:?}", idle.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_comes_back_for_its_stream_keeps_it_as_long_as_its_session_is_served() {
    let mut rig = Rig::new();
    let (session, mut puppet) = begin(&mut rig).await;
    let listen = || {
        let get = with(request(Method::GET, ""), "mcp-session-id", Some(&session));
        with(get, "accept", Some("text/event-stream"))
    };
    let mut first = rig.send(listen()).await;
    let running = rig.begin_to_send(tool_call(&session, 5));
    let heard = puppet.hear().await;
    let draining = drain(&rig).await;
    assert_eq!(first.event().await, None, "it is sent away");

    let mut again = rig.send(listen()).await;
    sleep(Duration::from_secs(10)).await;
    puppet.notify("notifications/tools/list_changed", json!({})).await;

    assert_eq!(again.event().await.unwrap()["method"], "notifications/tools/list_changed");
    puppet.answer(&heard["id"], json!({"n": 5})).await;
    assert_eq!(last(running.await.unwrap()).await["result"]["n"], 5);
    assert_eq!(again.event().await, None, "the server leaves");
    assert!(draining.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_asked_something_goes_on_when_its_client_is_back() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let (heard, state) = asked(&mut rig, &mut puppet).await;
    drain(&rig).await;

    let answers = json!({"1": {"action": "decline"}});
    let again = rig.begin_to_send(back(2, &state, answers));
    puppet.hear().await;
    puppet.answer(&heard["id"], json!({"done": true})).await;

    assert_eq!(again.await.unwrap().json().await["result"]["done"], true);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_nobody_uses_is_drained_at_once() {
    let mut rig = Rig::new();
    let (_session, _puppet) = begin(&mut rig).await;
    let (_silent, theirs) = duplex(64 * 1024);
    let server = rig.server.clone();
    tokio::spawn(async move { server.serve(theirs).await });
    sleep(Duration::from_secs(5)).await;
    let began = Instant::now();

    assert!(rig.server.drain(Duration::from_secs(30)).await);

    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
}

/// Begins to drain, and returns when that has begun.
async fn drain(rig: &Rig) -> tokio::task::JoinHandle<bool> {
    let server = rig.server.clone();
    let draining = tokio::spawn(async move { server.drain(Duration::from_secs(30)).await });
    tokio::task::yield_now().await;
    draining
}

fn tool_call(session: &str, id: u64) -> Request<Full<Bytes>> {
    let body = json!({"id": id, "method": "tools/call", "params": {"name": "t"}}).to_string();
    with(post(&body), "mcp-session-id", Some(session))
}

fn notification(session: &str) -> Request<Full<Bytes>> {
    with(post(r#"{"method":"notifications/initialized"}"#), "mcp-session-id", Some(session))
}

async fn last(mut answer: Answer) -> serde_json::Value {
    answer.last().await
}
