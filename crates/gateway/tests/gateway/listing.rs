//! Lists: of all servers together, of one alone, and how changes are told.

use std::time::Duration;

use ridethrough::Era;
use ridethrough::model::Notification;
use ridethrough_gateway::{Prefix, ServerSettings};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::rig::{Behind, ERAS, Rig, call, names, rig_of, secs};

#[tokio::test(start_paused = true)]
async fn the_tools_of_all_servers_are_one_list_in_either_era() {
    let (a, b) = (Behind::new("a", &["echo", "who"]), Behind::new("b", &["echo"]));
    let rig = rig_of(&[&a, &b]);

    for era in ERAS {
        let client = rig.client(era);

        assert_eq!(names(&client).await, ["a_echo", "a_who", "b_echo"], "{era:?}");
        assert_eq!(call(&client, "b_echo").await, r#"b {"a":1}"#, "{era:?}");
        assert_eq!(call(&client, "a_echo").await, r#"a {"a":1}"#, "{era:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_has_an_endpoint_of_its_own_under_its_own_names() {
    let (a, b) = (Behind::new("a", &["echo"]), Behind::new("b b", &["echo"]));
    let rig = rig_of(&[&a, &b]);

    for era in ERAS {
        let alone = rig.builder(era, "/mcp/b%20b").build().unwrap();

        assert_eq!(alone.connect().await.unwrap().name().as_deref(), Some("b b"), "{era:?}");
        assert_eq!(names(&alone).await, ["echo"], "{era:?}");
        assert_eq!(call(&alone, "echo").await, r#"b b {"a":1}"#, "{era:?}");
        let nowhere = rig.builder(era, "/mcp/c").build().unwrap();
        assert!(nowhere.connect().await.is_err(), "{era:?}");
    }
    assert_eq!(a.server.conversations().0, 0, "nobody asked for it");
}

#[tokio::test(start_paused = true)]
async fn what_servers_can_do_is_told_together() {
    let (a, b) = (Behind::new("a", &["echo"]), Behind::new("b", &["echo"]));
    let rig = rig_of(&[&a, &b]);

    for era in ERAS {
        let server = rig.client(era).connect().await.unwrap();

        for can in ["tools", "resources", "logging"] {
            assert!(server.can(can), "{era:?} {can}");
        }
        assert!(!server.can("prompts"), "{era:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_is_told_once_and_only_if_it_is_one() {
    let (a, b) = (Behind::new("a", &["echo"]), Behind::new("b", &["echo"]));
    let rig = rig_of(&[&a, &b]);
    let client = rig.client(Era::Legacy);
    names(&client).await;
    client.keep_connected();
    let mut news = client.notifications();
    sleep(secs(2)).await;

    // It says so, and nothing has changed.
    a.server.tell("notifications/tools/list_changed", json!({}));
    assert!(timeout(secs(60), news.next()).await.is_err());
    a.server.set_tools(&["echo", "new"]);
    a.server.tell("notifications/tools/list_changed", json!({}));
    let told = timeout(secs(60), news.next()).await.unwrap().unwrap();

    assert!(matches!(told, Notification::ToolsChanged), "{told:?}");
    assert!(timeout(secs(60), news.next()).await.is_err(), "it is told once");
    assert_eq!(names(&client).await, ["a_echo", "a_new", "b_echo"]);
    assert_eq!(call(&client, "a_new").await, r#"a {"a":1}"#);
}

#[tokio::test(start_paused = true)]
async fn who_lists_at_once_costs_a_server_one_request() {
    let a = Behind::new("a", &["echo"]);
    let rig = rig_of(&[&a]);
    let clients: Vec<_> = (0..20).map(|_| rig.client(Era::Legacy)).collect();

    let listing = clients.iter().map(|client| async { names(client).await.len() });
    let counts = futures_util::future::join_all(listing).await;

    assert_eq!(counts, [1; 20]);
    assert_eq!(a.server.lists(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_by_a_name_that_was_never_listed_here_finds_its_server() {
    let (a, b) = (Behind::new("a", &["echo"]), Behind::new("b", &["echo"]));
    let rig = rig_of(&[&a, &b]);

    assert_eq!(call(&rig.client(Era::Legacy), "b_echo").await, r#"b {"a":1}"#);
    let error = rig.client(Era::Legacy).call_tool("c_echo", ()).await.unwrap_err();
    assert!(error.to_string().contains("there is no tool `c_echo` here"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn new_settings_change_what_they_change_and_nothing_else() {
    let (a, b) = (Behind::new("a", &["echo", "who"]), Behind::new("b", &["echo"]));
    let c = Behind::new("c", &["echo"]);
    let rig = rig_of(&[&a, &b]);
    let client = rig.client(Era::Legacy);
    assert_eq!(names(&client).await, ["a_echo", "a_who", "b_echo"]);
    let session = call(&client, "a_who").await;
    client.keep_connected();
    let mut news = client.notifications();
    sleep(secs(2)).await;

    let mut plain: ServerSettings = a.settings.clone();
    plain.rules.prefix = Prefix::None;
    rig.gateway.set_servers(vec![plain, c.settings.clone()]).await;

    let told = timeout(secs(60), news.next()).await.unwrap().unwrap();
    assert!(matches!(told, Notification::ToolsChanged), "{told:?}");
    assert_eq!(names(&client).await, ["echo", "who", "c_echo"]);
    assert_eq!(call(&client, "who").await, session, "its link was left alone");
    assert_eq!(call(&client, "c_echo").await, r#"c {"a":1}"#);
    assert!(client.call_tool("b_echo", ()).await.is_err());
    sleep(secs(1)).await;
    assert_eq!(b.server.conversations().1, 0, "its links are closed");
}

/// Nobody tells of an update while the session at the server is gone.
#[tokio::test(start_paused = true)]
async fn a_watched_resource_is_told_as_changed_after_its_server_was_away() {
    let (a, b) = (Behind::new("a", &["who"]), Behind::new("b", &["who"]));
    a.server.set_resources(&["x:1"]);
    b.server.set_resources(&["x:2"]);
    let rig: Rig = rig_of(&[&a, &b]);
    let client = rig.client(Era::Legacy);
    client.resources().await.unwrap();
    client.keep_connected();
    let mut news = client.notifications();
    client.subscribe("x:1").await.unwrap();
    client.subscribe("x:2").await.unwrap();
    assert!(timeout(secs(60), news.next()).await.is_err(), "there was no gap");

    a.server.forget_everybody();
    sleep(secs(1)).await;
    call(&client, "a_who").await;

    let told = timeout(secs(60), news.next()).await.unwrap().unwrap();
    assert!(matches!(&told, Notification::ResourceUpdated { uri } if uri == "x:1"), "{told:?}");
    assert!(timeout(secs(60), news.next()).await.is_err(), "it is told once, and only of this");
}

#[tokio::test(start_paused = true)]
async fn resources_of_all_servers_are_read_and_subscribed_to_by_their_uris() {
    let (a, b) = (Behind::new("a", &[]), Behind::new("b", &[]));
    a.server.set_resources(&["x:1", "x:both"]);
    b.server.set_resources(&["x:2", "x:both"]);
    let rig: Rig = rig_of(&[&a, &b]);
    let client = rig.client(Era::Legacy);
    let uris: Vec<_> = client.resources().await.unwrap().into_iter().map(|it| it.uri).collect();

    let both = ["ridethrough:a/x:both", "ridethrough:b/x:both"];
    assert_eq!(uris, ["x:1", both[0], "x:2", both[1]]);
    let read = client.request("resources/read", json!({"uri": both[1]})).await.unwrap();
    assert!(read.as_str().contains(r#""text":"b x:both""#), "{}", read.as_str());
    client.keep_connected();
    let mut news = client.notifications();
    client.subscribe(both[1]).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    b.server.tell("notifications/resources/updated", json!({"uri": "x:both"}));
    let told = timeout(secs(60), news.next()).await.unwrap().unwrap();
    assert!(matches!(&told, Notification::ResourceUpdated { uri } if uri == both[1]), "{told:?}");
    a.server.tell("notifications/resources/updated", json!({"uri": "x:both"}));
    assert!(timeout(secs(60), news.next()).await.is_err(), "it is another's");
    client.unsubscribe(both[1]).await.unwrap();
    assert_eq!(b.server.heard("resources/unsubscribe").len(), 1);
}
