//! Whose links are whose, when they end, and how many there may be.

use ridethrough::Era;
use ridethrough_gateway::Share;
use tokio::time::sleep;

use crate::rig::{Behind, call, names, rig_of, secs};

#[tokio::test(start_paused = true)]
async fn links_are_shared_by_nobody_by_a_principal_or_by_all() {
    for (share, expected) in
        [(Share::Session, [1, 2, 3]), (Share::User, [1, 1, 2]), (Share::All, [1, 1, 1])]
    {
        let mut a = Behind::new("a", &["who"]);
        a.settings.share = share;
        let rig = rig_of(&[&a]);
        let clients = [rig.client(Era::Legacy), rig.client(Era::Legacy), rig.bob(Era::Legacy)];

        let mut sessions = Vec::new();
        for client in &clients {
            sessions.push(call(client, "a_who").await);
        }

        assert_eq!(sessions, expected.map(|it| format!("a {it}")), "{share:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_link_of_one_session_ends_with_it() {
    let a = Behind::new("a", &["who"]);
    let rig = rig_of(&[&a]);
    let client = rig.client(Era::Legacy);
    call(&client, "a_who").await;
    assert_eq!(a.server.conversations(), (1, 1));

    client.close().await;
    sleep(secs(5)).await;

    assert_eq!(a.server.conversations(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_shared_link_that_nobody_uses_ends_and_another_takes_its_place() {
    let mut a = Behind::new("a", &["who"]);
    (a.settings.share, a.settings.idle) = (Share::All, secs(60));
    let rig = rig_of(&[&a]);
    let client = rig.client(Era::Legacy);
    assert_eq!(call(&client, "a_who").await, "a 1");
    sleep(secs(30)).await;
    assert_eq!(call(&client, "a_who").await, "a 1");

    sleep(secs(100)).await;

    assert_eq!(a.server.conversations(), (1, 0));
    assert_eq!(call(&client, "a_who").await, "a 2");
}

#[tokio::test(start_paused = true)]
async fn beyond_the_links_that_there_may_be_a_call_is_refused_with_a_hint() {
    let mut a = Behind::new("a", &["who"]);
    a.settings.links = 1;
    let rig = rig_of(&[&a]);
    let (first, second) = (rig.client(Era::Legacy), rig.client(Era::Legacy));
    call(&first, "a_who").await;

    let refused = second.call_tool("a_who", ()).await.unwrap_err();
    assert!(refused.to_string().contains("all 1 links to it are in use"), "{refused}");
    first.close().await;
    sleep(secs(5)).await;

    assert_eq!(call(&second, "a_who").await, "a 2");
}

/// A server may show each of its clients other tools.
#[tokio::test(start_paused = true)]
async fn no_principal_sees_what_the_link_of_another_showed() {
    for share in [Share::Session, Share::User] {
        let mut a = Behind::new("a", &["mine"]);
        a.settings.share = share;
        let rig = rig_of(&[&a]);
        let (ada, bob) = (rig.client(Era::Legacy), rig.bob(Era::Legacy));

        assert_eq!(names(&ada).await, ["a_mine1"], "{share:?}");
        assert_eq!(names(&bob).await, ["a_mine2"], "{share:?}");
        sleep(secs(5)).await;

        assert_eq!(names(&ada).await, ["a_mine1"], "{share:?}");
        assert!(bob.call_tool("a_mine1", ()).await.is_err(), "{share:?}");
        assert_eq!(call(&ada, "a_mine1").await, r#"a {"a":1}"#, "{share:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_with_a_link_of_its_own_sees_its_own_lists() {
    let a = Behind::new("a", &["mine", "who"]);
    let rig = rig_of(&[&a]);
    let (first, second) = (rig.client(Era::Legacy), rig.client(Era::Legacy));
    assert_eq!(names(&first).await, ["a_mine1", "a_who"]);

    // It has no link yet, and none is opened for a list.
    assert_eq!(names(&second).await, ["a_mine1", "a_who"]);
    assert_eq!(a.server.conversations().0, 1);
    call(&second, "a_who").await;
    sleep(secs(5)).await;

    assert_eq!(names(&second).await, ["a_mine2", "a_who"]);
    assert_eq!(names(&first).await, ["a_mine1", "a_who"]);
}

/// A stateless server keeps nothing of a client.
#[tokio::test(start_paused = true)]
async fn all_may_share_one_link_to_a_server_without_sessions() {
    let mut a = Behind::new("a", &["echo"]);
    a.settings = a.stateless();
    a.settings.share = Share::All;
    a.settings.links = 1;
    let rig = rig_of(&[&a]);
    let clients = [
        rig.client(Era::Legacy),
        rig.bob(Era::Legacy),
        rig.client(Era::Modern),
        rig.client(Era::Legacy),
    ];

    for client in &clients {
        assert_eq!(names(client).await, ["a_echo"]);
        assert_eq!(call(client, "a_echo").await, r#"a {"a":1}"#);
    }
}
