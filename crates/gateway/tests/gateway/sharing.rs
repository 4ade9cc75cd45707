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

/// Many clients leave without `DELETE`: a process that is killed, a laptop that is closed.
#[tokio::test(start_paused = true)]
async fn a_link_whose_client_is_gone_gives_way_when_all_are_taken() {
    let mut a = Behind::new("a", &["who"]);
    a.settings.links = 2;
    let rig = rig_of(&[&a]);
    let (gone, stays) = (rig.client(Era::Legacy), rig.client(Era::Legacy));
    call(&stays, "a_who").await;
    call(&gone, "a_who").await;
    drop(gone);
    let third = rig.client(Era::Legacy);

    sleep(secs(50)).await;
    assert!(third.call_tool("a_who", ()).await.is_err(), "its client may come back");
    sleep(secs(20)).await;

    assert_eq!(call(&third, "a_who").await, "a 3");
    assert_eq!(call(&stays, "a_who").await, "a 1");
    assert_eq!(a.server.conversations(), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn a_link_whose_client_is_there_or_has_a_call_under_way_gives_way_to_no_other() {
    let mut a = Behind::new("a", &["who", "hang"]);
    a.settings.links = 2;
    let rig = rig_of(&[&a]);
    let is_quiet = rig.client(Era::Legacy);
    call(&is_quiet, "a_who").await;
    let calls = rig.client(Era::Legacy);
    call(&calls, "a_who").await;
    let calling = tokio::spawn(async move { calls.call_tool("a_hang", ()).await.is_ok() });
    sleep(secs(5)).await;
    // The client is gone, and its call goes on.
    calling.abort();
    let third = rig.client(Era::Legacy);

    sleep(secs(200)).await;
    let refused = third.call_tool("a_who", ()).await.unwrap_err();

    assert!(refused.to_string().contains("all 2 links to it are in use"), "{refused}");
    assert_eq!(a.server.conversations(), (2, 2));
    assert_eq!(call(&is_quiet, "a_who").await, "a 1");
}

#[tokio::test(start_paused = true)]
async fn the_link_that_was_unused_for_longest_gives_way() {
    let mut a = Behind::new("a", &["who"]);
    a.settings.links = 2;
    let rig = rig_of(&[&a]);
    // Clients without sessions have no stream that would show that they are there.
    let first = rig.client(Era::Modern);
    let bob = rig.bob(Era::Modern);
    assert_eq!(call(&first, "a_who").await, "a 1");
    sleep(secs(30)).await;
    assert_eq!(call(&bob, "a_who").await, "a 2");
    sleep(secs(70)).await;

    assert_eq!(call(&rig.client(Era::Legacy), "a_who").await, "a 3");

    assert_eq!(call(&bob, "a_who").await, "a 2");
}

#[tokio::test(start_paused = true)]
async fn a_client_whose_link_gave_way_has_another_when_it_calls_again() {
    let mut a = Behind::new("a", &["who"]);
    a.settings.links = 1;
    let rig = rig_of(&[&a]);
    // It has no stream that would show that it is there.
    let (stateless, other) = (rig.client(Era::Modern), rig.client(Era::Legacy));
    assert_eq!(call(&stateless, "a_who").await, "a 1");
    sleep(secs(70)).await;
    assert_eq!(call(&other, "a_who").await, "a 2");
    other.close().await;
    sleep(secs(5)).await;

    assert_eq!(call(&stateless, "a_who").await, "a 3");
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
