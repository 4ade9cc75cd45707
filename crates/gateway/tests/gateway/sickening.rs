//! Servers that are sick: what is felt of them, and what is not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ridethrough::model::Notification;
use ridethrough::{Client, Era, Json};
use ridethrough_gateway::{GatewaySettings, ListKind, ListStore, ServerSettings};
use ridethrough_server::{AccessPolicy, Principal, Server, Settings, Token};
use tokio::time::{Instant, sleep, timeout};

use crate::rig::{Behind, ERAS, Rig, To, Way, WayState, call, names, rig_of, secs};
use crate::small_server::SmallServer;

/// The gateway has known the server before, or never reached it.
#[tokio::test(start_paused = true)]
async fn one_sick_server_of_three_slows_no_call_and_no_list_for_more_than_a_second() {
    for (state, era) in
        [WayState::Hangs, WayState::Refuses].into_iter().flat_map(|it| ERAS.map(|era| (it, era)))
    {
        let all = [("a", "echo"), ("b", "echo"), ("c", "echo")]
            .map(|(name, tool)| Behind::new(name, &[tool]));
        all[1].way.set(state);
        let rig = rig_of(&[&all[0], &all[1], &all[2]]);
        let client = rig.client(era);
        let began = Instant::now();
        client.connect().await.unwrap();
        assert!(began.elapsed() <= Duration::from_millis(1100), "{state:?} {:?}", began.elapsed());

        let began = Instant::now();
        assert_eq!(names(&client).await, ["a_echo", "c_echo"], "{state:?} {era:?}");
        assert!(began.elapsed() <= Duration::from_millis(1100), "{state:?} {:?}", began.elapsed());

        let began = Instant::now();
        let sick = client.call_tool("b_echo", ()).into_future();
        for _ in 0..100 {
            assert_eq!(call(&client, "a_echo").await, r#"a {"a":1}"#);
            assert_eq!(call(&client, "c_echo").await, r#"c {"a":1}"#);
        }
        assert!(began.elapsed() < Duration::from_millis(100), "{state:?} {:?}", began.elapsed());
        assert!(sick.await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_last_known_of_a_sick_server_stands_in_and_is_marked() {
    let (a, b) = (Behind::new("a", &["echo"]), Behind::new("b", &["echo"]));
    let rig = rig_of(&[&a, &b]);
    let healthy = rig.client(Era::Legacy);
    assert_eq!(names(&healthy).await, ["a_echo", "b_echo"]);
    healthy.close().await;
    b.way.set(WayState::Hangs);
    b.server.forget_everybody();
    sleep(secs(5)).await;

    let began = Instant::now();
    let client = rig.client(Era::Legacy);
    let list = client.request("tools/list", ()).await.unwrap();

    assert!(began.elapsed() <= Duration::from_millis(2100), "{:?}", began.elapsed());
    let text = list.as_str();
    assert!(text.contains(r#""name":"b_echo""#), "{text}");
    assert_eq!(text.matches(r#""ridethrough/lastKnown":["b"]"#).count(), 1, "{text}");
    // It is known to be sick, so nobody waits for it again.
    let began = Instant::now();
    client.request("tools/list", ()).fresh().await.unwrap();
    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_comes_late_is_told_of_once() {
    let (a, b) = (Behind::new("a", &["echo"]), Behind::new("b", &["echo"]));
    b.way.set(WayState::Refuses);
    let rig: Rig = rig_of(&[&a, &b]);
    let client = rig.client(Era::Legacy);
    assert_eq!(names(&client).await, ["a_echo"]);
    client.keep_connected();
    let mut news = client.notifications();
    sleep(secs(3)).await;

    b.way.set(WayState::Open);

    let told = timeout(secs(60), news.next()).await.unwrap().unwrap();
    assert!(matches!(told, Notification::ToolsChanged), "{told:?}");
    assert_eq!(names(&client).await, ["a_echo", "b_echo"]);
    assert!(timeout(secs(60), news.next()).await.is_err(), "it is told once");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_dies_behind_a_living_one_is_renewed_under_it() {
    let a = Behind::new("a", &["echo", "who"]);
    let rig = rig_of(&[&a]);
    let client = rig.client(Era::Legacy);
    names(&client).await;
    let first = call(&client, "a_who").await;

    a.server.forget_everybody();
    sleep(secs(1)).await;

    let second = call(&client, "a_who").await;
    assert_ne!(first, second);
    assert_eq!(call(&client, "a_echo").await, r#"a {"a":1}"#);
}

/// There is nothing to stand in, and no other server that could be slowed.
#[tokio::test(start_paused = true)]
async fn the_list_of_a_server_alone_that_was_never_read_is_waited_for_and_its_calls_are_passed_on()
{
    let a = Behind::new("a", &["echo"]);
    a.way.set(WayState::Refuses);
    let rig = rig_of(&[&a]);
    let client = rig.builder(Era::Legacy, "/mcp/a").build().unwrap();
    client.connect().await.unwrap();
    let way = a.way.clone();
    tokio::spawn(async move {
        sleep(secs(8)).await;
        way.set(WayState::Open);
    });

    let (list, answer) = tokio::join!(names(&client), call(&client, "echo"));

    assert_eq!(list, ["echo"]);
    assert_eq!(answer, r#"a {"a":1}"#);
}

#[tokio::test(start_paused = true)]
async fn the_list_of_a_server_alone_that_cannot_be_read_is_an_error_and_no_empty_list() {
    let a = Behind::new("a", &["echo"]);
    a.way.set(WayState::Refuses);
    let rig = rig_of(&[&a]);
    let client = rig.builder(Era::Legacy, "/mcp/a").build().unwrap();

    let error = client.tools().timeout(secs(90)).await.unwrap_err().to_string();

    assert!(error.contains("server `a`: tools/list has no answer"), "{error}");
}

/// A session would look as if all were well.
#[tokio::test(start_paused = true)]
async fn a_server_alone_that_refuses_the_credentials_is_not_greeted_for() {
    let small = SmallServer::new("a", &["echo"]);
    let access = AccessPolicy::new([127, 0, 0, 1].into(), Token::new("an0ther").ok());
    let way = Way::new(Server::new(small, access, Settings::default(), |_| {}));
    let rig = Rig::new(vec![ServerSettings::new("a", To(way))]);

    let alone = rig.builder(Era::Legacy, "/mcp/a").build().unwrap();
    let error = alone.connect().await.unwrap_err().to_string();
    let among_others = rig.client(Era::Legacy).connect().await;

    assert!(error.contains("was not authorized"), "{error}");
    assert!(among_others.is_ok(), "others may be well: {among_others:?}");
}

#[tokio::test(start_paused = true)]
async fn people_are_told_of_a_sick_server_once_and_when_it_is_back() {
    let a = Behind::new("a", &["echo"]);
    a.way.set(WayState::Refuses);
    let rig = rig_of(&[&a]);
    let client = rig.client(Era::Legacy);
    for _ in 0..3 {
        names(&client).await;
        sleep(secs(60)).await;
    }

    a.way.set(WayState::Open);
    sleep(secs(60)).await;
    names(&client).await;
    sleep(secs(60)).await;

    let told = rig.told();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("`a` cannot be asked"), "{told:?}");
    assert_eq!(told[1], "`a` answers again");
}

#[tokio::test(start_paused = true)]
async fn what_was_kept_by_an_earlier_process_stands_in_for_a_server_that_is_down() {
    let (a, b) = (Behind::new("a", &["echo"]), Behind::new("b", &["echo"]));
    let servers = || vec![a.settings.clone(), b.settings.clone()];
    let mut settings = GatewaySettings::default();
    settings.lists = Some(Arc::new(Kept::default()));
    let before = Rig::with(servers(), settings.clone());
    assert_eq!(names(&before.client(Era::Legacy)).await, ["a_echo", "b_echo"]);
    sleep(secs(1)).await;
    drop(before);
    b.way.set(WayState::Hangs);

    let after = Rig::with(servers(), settings);
    let list = after.client(Era::Legacy).request("tools/list", ()).await.unwrap();

    let text = list.as_str();
    assert!(text.contains(r#""name":"a_echo""#) && text.contains(r#""name":"b_echo""#), "{text}");
    assert_eq!(text.matches("ridethrough/lastKnown").count(), 1, "{text}");
}

/// Some hosts pin definitions that a person has approved, and ask again when one differs.
#[tokio::test(start_paused = true)]
async fn over_a_hundred_outages_and_restarts_no_tool_differs_and_no_change_is_told() {
    let (a, b) = (Behind::new("a", &["echo"]), Behind::new("b", &["echo", "who"]));
    let servers = || vec![a.settings.clone(), b.settings.clone()];
    let mut settings = GatewaySettings::default();
    settings.lists = Some(Arc::new(Kept::default()));
    let rig = Rig::with(servers(), settings.clone());
    let client = rig.client(Era::Legacy);
    let known = listed(&client).await;
    assert!(known.1.is_empty() && known.0.contains("b_who"), "{known:?}");
    client.keep_connected();
    let mut news = client.notifications();
    sleep(secs(3)).await;

    for round in 0..100 {
        b.way.set(if round % 2 == 0 { WayState::Refuses } else { WayState::Hangs });
        b.way.cut();
        b.server.forget_everybody();
        sleep(secs(5)).await;
        let restarted = Rig::with(servers(), settings.clone());
        for during in [listed(&client).await, listed(&restarted.client(Era::Legacy)).await] {
            assert_eq!(during.0, known.0, "round {round}");
            assert_eq!(during.1, r#"{"ridethrough/lastKnown":["b"]}"#, "round {round}");
        }
        b.way.set(WayState::Open);
        sleep(secs(120)).await;
        assert_eq!(listed(&client).await, known, "round {round}");
    }

    assert!(timeout(secs(60), news.next()).await.is_err(), "no change is told");
}

/// Returns the tools as they are written, and what is said of the list as a whole.
async fn listed(client: &Client) -> (String, String) {
    let list = client.request("tools/list", ()).fresh().await.unwrap();
    let text = |name: &str| list.member(name).map(|it| it.as_str().to_owned()).unwrap_or_default();
    (text("tools"), text("_meta"))
}

/// A store in memory.
#[derive(Default)]
struct Kept(Mutex<BTreeMap<KeptKey, Vec<Json>>>);

type KeptKey = (String, Option<Principal>, ListKind);

impl ListStore for Kept {
    fn read(
        &self,
        server: &ServerSettings,
        principal: Option<&Principal>,
        kind: ListKind,
    ) -> Option<Vec<Json>> {
        let key = (server.name.to_string(), principal.cloned(), kind);
        self.0.lock().unwrap().get(&key).cloned()
    }

    fn keep(
        &self,
        server: &ServerSettings,
        principal: Option<&Principal>,
        kind: ListKind,
        elements: &[Json],
    ) {
        let key = (server.name.to_string(), principal.cloned(), kind);
        self.0.lock().unwrap().insert(key, elements.to_vec());
    }
}
