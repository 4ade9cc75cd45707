//! What a hostile server, or a hostile caller, cannot do to the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use futures_util::future::join_all;
use ridethrough::event::{Delivered, Inbox};
use ridethrough::model::{Elicited, FormRequest};
use ridethrough::{Era, Json};
use ridethrough_gateway::Share;
use ridethrough_server::{Caller, Principal};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::rig::{Behind, call, millis, names, rig_of, secs};
use crate::small_host::SmallHost;

/// The answer would reach the server that asked, by a call that was never made there.
#[tokio::test(start_paused = true)]
async fn a_server_cannot_ask_by_a_call_at_another() {
    let (good, bad) = (Behind::new("good", &["hang"]), Behind::new("bad", &["echo"]));
    let rig = rig_of(&[&good, &bad]);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let client = rig.builder(Era::Modern, "/mcp").on_form(move |_: FormRequest| {
        count.fetch_add(1, Ordering::Relaxed);
        async { Elicited::Accepted(Json::from(json!({"password": "secret"}))) }
    });
    let client = client.build().unwrap();
    call(&client, "bad_echo").await;
    let hanging = tokio::spawn(client.call_tool("good_hang", ()).into_future());
    sleep(secs(1)).await;

    bad.server.ask("elicitation/create", form("your password?"));
    sleep(secs(5)).await;

    assert_eq!(asked.load(Ordering::Relaxed), 0);
    assert!(bad.server.heard("id").iter().any(|it| it.contains("-32601")), "it is refused");
    assert!(!hanging.is_finished());
    hanging.abort();
}

#[tokio::test(start_paused = true)]
async fn a_log_of_no_call_is_shown_to_no_call_at_another_server() {
    let (good, bad) = (Behind::new("good", &["hang"]), Behind::new("bad", &["echo"]));
    let rig = rig_of(&[&good, &bad]);
    let client = rig.client(Era::Modern);
    let mut inbox = client.inbox();
    client.request("logging/setLevel", json!({"level": "debug"})).await.unwrap();
    call(&client, "bad_echo").await;
    let hanging = tokio::spawn(client.call_tool("good_hang", ()).into_future());
    sleep(secs(1)).await;

    bad.server.tell("notifications/message", json!({"level": "error", "data": "of bad"}));

    assert_eq!(next(&mut inbox).await, None);
    hanging.abort();
}

/// What it says waits for a caller that reads slowly, and there is always more of it.
#[tokio::test(start_paused = true)]
async fn a_server_that_talks_without_end_holds_up_no_answer_of_another() {
    let (good, bad) = (Behind::new("good", &["echo"]), Behind::new("bad", &["echo"]));
    let rig = rig_of(&[&good, &bad]);
    let mut talk = SmallHost::new(&rig.gateway, &Caller::new(Principal::owner(), "")).await;
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    send(&talk, 0, "initialize", hello).await;
    let echo = |server: &str| json!({"name": format!("{server}_echo"), "arguments": {}});
    send(&talk, 1, "tools/call", echo("bad")).await;
    send(&talk, 2, "tools/call", echo("good")).await;
    while talk.read().await["id"] != 2 {}
    let log = || bad.server.tell("notifications/message", json!({"level": "error", "data": "s"}));
    (0..100).for_each(|_| log());
    send(&talk, 3, "tools/call", echo("good")).await;
    sleep(secs(1)).await;

    let mut before = 0;
    while talk.read().await["id"] != 3 {
        before += 1;
        log();
        sleep(millis(1)).await;
        // The answer comes after what was said before it, of which so much is kept.
        assert!(before <= 256, "it is held up");
    }
    assert!(before > 0, "nothing was said");
}

/// Paused time stands still but for what is waited for on purpose.
#[tokio::test(start_paused = true)]
async fn large_answers_leave_time_for_small_ones() {
    let (large, small) = (Behind::new("large", &["megabyte"]), Behind::new("small", &["echo"]));
    let rig = rig_of(&[&large, &small]);
    let client = rig.client(Era::Legacy);
    call(&client, "small_echo").await;
    let cores = available_parallelism().map_or(1, usize::from);
    let megabytes = (32 * cores).min(256);
    let began = Instant::now();

    let calls = (0..megabytes).map(|_| client.call_tool("large_megabyte", ()).into_future());
    let calls = tokio::spawn(join_all(calls));
    sleep(millis(20)).await;
    let asked = Instant::now();
    call(&client, "small_echo").await;
    let small_took = asked.elapsed();

    assert!(calls.await.unwrap().iter().all(Result::is_ok));
    // Some of each answer does not count, and neither does a burst; the rest comes at the rate.
    let counted = u32::try_from(megabytes * 3 / 4).unwrap();
    let at_least = secs(1) * counted / u32::try_from(128 * cores).unwrap();
    assert!(began.elapsed() >= at_least, "{:?}, {at_least:?}", began.elapsed());
    assert!(small_took < millis(10), "{small_took:?}");
}

/// A local server says nothing of the call that its log is about.
#[tokio::test(start_paused = true)]
async fn what_all_principals_share_shows_none_of_them_the_log_of_another() {
    let mut a = Behind::new("a", &["echo", "hang"]);
    a.settings.share = Share::All;
    let rig = rig_of(&[&a]);
    let (ada, bob) = (rig.client(Era::Legacy), rig.bob(Era::Legacy));
    let (mut of_ada, mut of_bob) = (ada.inbox(), bob.inbox());
    for client in [&ada, &bob] {
        call(client, "a_echo").await;
        client.keep_connected();
    }
    let log = || a.server.tell("notifications/message", json!({"level": "error", "data": "s"}));

    log();
    a.server.tell("notifications/elicitation/complete", json!({"elicitationId": "of ada"}));
    a.server.tell("notifications/example.com/news", json!({"of": "ada"}));
    assert_eq!(next(&mut of_ada).await, None);
    assert_eq!(next(&mut of_bob).await, None);
    let hanging = tokio::spawn(ada.call_tool("a_hang", ()).into_future());
    sleep(secs(1)).await;
    log();
    assert_eq!(next(&mut of_ada).await.as_deref(), Some("notifications/message"));
    assert_eq!(next(&mut of_bob).await, None);
    hanging.abort();
}

/// Names, filters, rights and quotas are those of requests.
#[tokio::test(start_paused = true)]
async fn a_call_without_an_id_reaches_no_server() {
    let a = Behind::new("a", &["echo"]);
    let rig = rig_of(&[&a]);
    let client = rig.client(Era::Legacy);
    call(&client, "a_echo").await;

    client.notify("tools/call", json!({"name": "wipe"})).await.unwrap();
    client.notify("notifications/example.com/mine", json!({})).await.unwrap();
    sleep(secs(1)).await;

    assert_eq!(a.server.heard("tools/call").len(), 1);
    assert_eq!(a.server.heard("notifications/example.com/mine").len(), 1);
}

/// Nobody waits for a notification: without a bound, those for a server that takes nothing would be kept.
#[tokio::test(start_paused = true)]
async fn notifications_for_a_server_that_takes_nothing_are_dropped_and_reach_the_others() {
    let (good, bad) = (Behind::new("good", &["echo"]), Behind::new("bad", &["echo"]));
    let rig = rig_of(&[&bad, &good]);
    let client = rig.client(Era::Legacy);
    call(&client, "good_echo").await;
    call(&client, "bad_echo").await;
    bad.server.set_deaf(true);

    for _ in 0..100 {
        client.notify("notifications/example.com/mine", json!({})).await.unwrap();
        sleep(millis(10)).await;
    }
    sleep(secs(1)).await;
    bad.server.set_deaf(false);
    sleep(secs(60)).await;

    let heard = |it: &Behind| it.server.heard("notifications/example.com/mine").len();
    assert_eq!(heard(&good), 100);
    // Two beside those that are on their way: the one that it was about to take, and the one behind that.
    assert!((2..=34).contains(&heard(&bad)), "{}", heard(&bad));
}

#[tokio::test(start_paused = true)]
async fn the_questions_of_one_server_leave_room_for_those_of_another() {
    let (good, bad) = (Behind::new("good", &["ask"]), Behind::new("bad", &["echo"]));
    let rig = rig_of(&[&good, &bad]);
    let client = rig.builder(Era::Legacy, "/mcp").on_form(|form: FormRequest| async move {
        if form.message != "who?" {
            std::future::pending::<()>().await;
        }
        Elicited::Accepted(Json::from(json!({"name": "Ada"})))
    });
    let client = client.build().unwrap();
    client.keep_connected();
    call(&client, "bad_echo").await;

    for _ in 0..1100 {
        bad.server.ask("elicitation/create", form("and you?"));
    }
    sleep(secs(2)).await;

    let said = client.call_tool("good_ask", json!({"say": "who?"})).await.unwrap().text();
    assert!(said.contains("Ada"), "{said}");
    let refused = bad.server.heard("id");
    assert!(refused.iter().any(|it| it.contains("too many questions of this server")));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_changes_without_end_is_read_once_a_second() {
    let a = Behind::new("a", &["echo"]);
    let rig = rig_of(&[&a]);
    let client = rig.client(Era::Legacy);
    client.keep_connected();
    names(&client).await;
    call(&client, "a_echo").await;
    sleep(secs(2)).await;
    let before = a.server.lists();

    for round in 0..1000 {
        a.server.set_tools(&[&format!("t{round}")]);
        a.server.tell("notifications/tools/list_changed", json!({}));
        sleep(millis(10)).await;
    }
    sleep(secs(2)).await;

    let reads = a.server.lists() - before;
    assert!((5..=13).contains(&reads), "{reads} in 10 s");
    assert_eq!(names(&client).await, ["a_t999"], "the last change is not lost");
}

/// Returns the method of the next notification, if one comes.
async fn next(inbox: &mut Inbox) -> Option<String> {
    match timeout(secs(5), inbox.next()).await {
        Ok(Some(Delivered::Notification { method, .. })) => Some(method.to_string()),
        _ => None,
    }
}

fn form(message: &str) -> Value {
    json!({"message": message, "requestedSchema": {"type": "object", "properties": {}}})
}

async fn send(talk: &SmallHost, id: u32, method: &str, params: Value) {
    talk.send([json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})]).await;
}
