//! What principals may: what they may not is not there, as far as they can tell.

use ridethrough::model::Notification;
use ridethrough::{Client, Era, Error};
use ridethrough_gateway::{AccessRights, GatewaySettings, Grant, Rights};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::rig::{Behind, ERAS, Rig, call, names, secs};

#[tokio::test(start_paused = true)]
async fn a_principal_is_shown_what_it_may_call_and_nothing_else() {
    let [a, b, c] = ["a", "b", "c"].map(|name| Behind::new(name, &["get", "set"]));
    let rig = rig(&[&a, &b, &c], &[("a", Some("get")), ("b", None)]);

    for era in ERAS {
        assert_eq!(names(&rig.bob(era)).await, ["a_get", "b_get", "b_set"], "{era:?}");
        assert_eq!(names(&rig.client(era)).await.len(), 6, "the owner sees all");
        assert_eq!(call(&rig.bob(era), "a_get").await, r#"a {"a":1}"#, "{era:?}");
    }
}

/// A principal must not learn of a server or a tool by the way in which it is refused.
#[tokio::test(start_paused = true)]
async fn what_a_principal_may_not_call_is_refused_like_what_does_not_exist() {
    let [a, c] = ["a", "c"].map(|name| Behind::new(name, &["get", "set"]));
    c.server.set_resources(&["x:1"]);
    let rig = rig(&[&a, &c], &[("a", Some("get"))]);
    names(&rig.client(Era::Legacy)).await;

    for era in ERAS {
        let bob = rig.bob(era);
        for (method, hidden, absent) in [
            ("tools/call", json!({"name": "a_set"}), json!({"name": "a_xxx"})),
            ("tools/call", json!({"name": "c_get"}), json!({"name": "d_get"})),
            ("resources/read", json!({"uri": "x:1"}), json!({"uri": "x:2"})),
            (
                "resources/read",
                json!({"uri": "ridethrough:c/x:1"}),
                json!({"uri": "ridethrough:d/x:1"}),
            ),
        ] {
            let name = |params: &Value| {
                let name = params["name"].as_str().or(params["uri"].as_str());
                name.unwrap().to_owned()
            };
            let refused = async |params: &Value| {
                let answer = bob.request(method, params.clone()).answer().await.unwrap();
                let said: Value = answer.json().read().unwrap();
                said.to_string().replace(&name(params), "NAME")
            };

            assert_eq!(refused(&hidden).await, refused(&absent).await, "{era:?} {hidden}");
        }
    }
    assert!(a.server.heard("tools/call").is_empty() && c.server.heard("tools/call").is_empty());
    let sick = rig.builder(Era::Legacy, "/mcp/c");
    let nowhere = rig.builder(Era::Legacy, "/mcp/d");
    for builder in [sick, nowhere] {
        let bob = ridethrough::credentials::StaticToken::new(crate::rig::BOB).unwrap();
        let error = builder.credentials(bob).build().unwrap().connect().await.unwrap_err();
        assert!(error.to_string().contains("404"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_servers_that_could_not_be_asked_are_named_only_to_those_who_may_use_them() {
    let [a, c] = ["a", "c"].map(|name| Behind::new(name, &["get"]));
    c.way.set(crate::rig::WayState::Refuses);
    let rig = rig(&[&a, &c], &[("a", None)]);

    let to_bob = rig.bob(Era::Legacy).call_tool("c_get", ()).await.unwrap_err().to_string();
    let to_owner = rig.client(Era::Legacy).call_tool("c_get", ()).await.unwrap_err().to_string();

    assert!(to_owner.contains("`c` could not be asked"), "{to_owner}");
    assert!(!to_bob.contains("`c`"), "{to_bob}");
}

#[tokio::test(start_paused = true)]
async fn a_principal_that_only_reads_has_only_tools_that_say_so() {
    let a = Behind::new("a", &["get"]);
    let mut rights = rights(&[("a", None)]);
    rights.principals.get_mut("bob").unwrap().grants[0].is_read_only = true;
    let rig = rig_with(&[&a], rights);
    let bob = rig.bob(Era::Legacy);

    assert!(names(&bob).await.is_empty());
    assert!(bob.call_tool("a_get", ()).await.is_err());
    assert!(a.server.heard("tools/call").is_empty());
}

#[tokio::test(start_paused = true)]
async fn who_is_not_named_may_nothing() {
    let a = Behind::new("a", &["get"]);
    let rig = rig_with(&[&a], AccessRights::default());

    for era in ERAS {
        let bob = rig.bob(era);
        assert!(names(&bob).await.is_empty(), "{era:?}");
        assert!(bob.call_tool("a_get", ()).await.is_err(), "{era:?}");
    }
    assert_eq!(a.server.conversations().0, 0, "nothing was asked for it");
}

#[tokio::test(start_paused = true)]
async fn new_rights_hold_from_the_next_request_on_and_are_told() {
    let [a, b] = ["a", "b"].map(|name| Behind::new(name, &["get"]));
    let rig = rig(&[&a, &b], &[("a", None)]);
    let bob = rig.bob(Era::Legacy);
    assert_eq!(names(&bob).await, ["a_get"]);
    bob.keep_connected();
    let mut news = bob.notifications();
    sleep(secs(2)).await;

    rig.gateway.set_access(rights(&[("b", None)]));

    // Lists of the other server are read with the next list.
    let told = timeout(secs(60), news.next()).await.unwrap().unwrap();
    assert!(matches!(told, Notification::ToolsChanged), "{told:?}");
    assert!(bob.call_tool("a_get", ()).await.is_err());
    assert_eq!(names(&bob).await, ["b_get"]);
    assert_eq!(call(&bob, "b_get").await, r#"b {"a":1}"#);
}

#[tokio::test(start_paused = true)]
async fn beyond_its_quota_a_principal_is_refused_and_told_when_to_come_again() {
    let a = Behind::new("a", &["get", "hang"]);
    let mut limited = rights(&[("a", None)]);
    limited.principals.get_mut("bob").unwrap().calls_per_minute = Some(2);
    let rig = rig_with(&[&a], limited);
    let (bob, owner) = (rig.bob(Era::Legacy), rig.client(Era::Legacy));
    for _ in 0..2 {
        call(&bob, "a_get").await;
    }

    let refused = bob.request("tools/call", json!({"name": "a_get"})).answer().await.unwrap();
    let said: Value = refused.json().read().unwrap();
    assert_eq!(said["data"]["kind"], "quotaExceeded", "{said}");
    assert_eq!(said["data"]["mayHaveRun"], false);
    let wait = said["data"]["retryAfterMs"].as_u64().unwrap();
    assert!(wait > 25_000 && wait <= 30_000, "{wait}");
    assert_eq!(call(&owner, "a_get").await, r#"a {"a":1}"#, "it is another's quota");
    // A client without a session is told by the status, and comes again by itself.
    let (began, stateless) = (Instant::now(), rig.bob(Era::Modern));
    assert_eq!(call(&stateless, "a_get").await, r#"a {"a":1}"#);
    assert!(began.elapsed() >= secs(25), "{:?}", began.elapsed());
    assert_eq!(a.server.heard("tools/call").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_principal_that_are_under_way_are_counted_over_all_its_sessions() {
    let a = Behind::new("a", &["get", "hang"]);
    let mut limited = rights(&[("a", None)]);
    limited.principals.get_mut("bob").unwrap().in_flight = Some(1);
    let rig = rig_with(&[&a], limited);
    let (first, second) = (rig.bob(Era::Legacy), rig.bob(Era::Legacy));
    let hanging = first.request("tools/call", json!({"name": "a_hang"})).answer();
    sleep(secs(5)).await;

    assert!(is_over_quota(&second).await);
    drop(hanging);
    sleep(secs(5)).await;

    assert_eq!(call(&second, "a_get").await, r#"a {"a":1}"#);
}

async fn is_over_quota(client: &Client) -> bool {
    match client.call_tool("a_get", ()).await.unwrap_err() {
        Error::Server(error) => error.rpc.message.contains("calls of yours are under way"),
        error => panic!("{error}"),
    }
}

fn rig(servers: &[&Behind], allowed: &[(&str, Option<&str>)]) -> Rig {
    rig_with(servers, rights(allowed))
}

fn rig_with(servers: &[&Behind], rights: AccessRights) -> Rig {
    let mut settings = GatewaySettings::default();
    settings.access = Some(rights);
    Rig::with(servers.iter().map(|it| it.settings.clone()).collect(), settings)
}

/// Rights of `bob` to these servers, or to one tool of them.
fn rights(allowed: &[(&str, Option<&str>)]) -> AccessRights {
    let grant = |(server, tool): &(&str, Option<&str>)| Grant {
        server: (*server).to_owned(),
        tools: tool.map(|it| vec![it.to_owned()]),
        is_read_only: false,
    };
    let mut rights = Rights::default();
    rights.grants = allowed.iter().map(grant).collect();
    let mut all = AccessRights::default();
    all.principals.insert("bob".to_owned(), rights);
    all
}
