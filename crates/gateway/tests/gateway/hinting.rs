//! Which calls are repeated when their answer is lost: what a server says of its tools holds for all links to it.

use ridethrough::{Client, Era};
use ridethrough_core::hints::ToolHint;
use ridethrough_gateway::{ServerSettings, Share};
use serde_json::json;
use tokio::time::sleep;

use crate::rig::{Behind, ERAS, Rig, call, names, secs};

/// The list is read over the link of the session that asks for it first, and calls go out over those of others.
#[tokio::test(start_paused = true)]
async fn what_one_link_was_told_of_the_tools_holds_for_every_link_with_the_same_login() {
    for share in [Share::Session, Share::User, Share::All] {
        for era in ERAS {
            let a = looking();
            a.server.set_only_reading(true);
            let rig = rig_with(&a, |settings| settings.share = share);
            let reader = rig.client(Era::Legacy);
            assert_eq!(names(&reader).await, ["a_look", "a_who"]);
            call(&reader, "a_who").await;
            let other = if share == Share::All { rig.bob(era) } else { rig.client(era) };

            assert_eq!(lost(&a, &other).await.unwrap(), r#"a {"a":1}"#, "{share:?} {era:?}");
            assert_eq!(a.server.heard("look").len(), 2, "{share:?} {era:?}");
        }
    }
}

/// Replicas are replaced one by one, and nobody knows which one a call reaches.
#[tokio::test(start_paused = true)]
async fn a_tool_about_which_lists_disagree_is_not_repeated_by_any_link() {
    let (a, rig) = reading();
    let clients = [rig.client(Era::Legacy), rig.client(Era::Legacy)];
    for client in &clients {
        names(client).await;
        call(client, "a_who").await;
        client.request("tools/list", ()).fresh().await.unwrap();
        sleep(secs(5)).await;
    }
    a.server.set_only_reading(false);
    clients[1].request("tools/list", ()).fresh().await.unwrap();

    let error = lost(&a, &clients[0]).await.unwrap_err();

    assert!(error.contains("was interrupted"), "{error}");
    assert_eq!(a.server.heard("look").len(), 1);
}

/// It is told again when the session that has read the other list is over.
#[tokio::test(start_paused = true)]
async fn a_list_counts_as_long_as_the_session_that_has_read_it() {
    let (a, rig) = reading();
    let old = rig.client(Era::Legacy);
    names(&old).await;
    call(&old, "a_who").await;
    old.request("tools/list", ()).fresh().await.unwrap();
    sleep(secs(5)).await;
    a.server.set_only_reading(false);
    old.close().await;
    sleep(secs(5)).await;
    let new = rig.client(Era::Legacy);
    call(&new, "a_who").await;
    names(&new).await;
    a.server.set_only_reading(true);
    sleep(secs(5)).await;
    names(&new).await;

    assert_eq!(lost(&a, &new).await.unwrap(), r#"a {"a":1}"#);
}

/// At an endpoint of one server names are passed on without a list.
#[tokio::test(start_paused = true)]
async fn the_hints_of_a_server_whose_tools_nobody_lists_are_read_by_the_gateway() {
    let (a, rig) = reading();
    let client = rig.builder(Era::Legacy, "/mcp/a").build().unwrap();
    client.call_tool("who", ()).await.unwrap();
    // The front of the server has read them for itself.
    let before = a.server.lists();

    sleep(secs(5)).await;

    assert_eq!(a.server.lists(), before + 1);
    let looking = tokio::spawn(client.call_tool("look", json!({"a": 1})).into_future());
    sleep(secs(1)).await;
    a.way.cut();
    assert_eq!(looking.await.unwrap().unwrap().text(), r#"a {"a":1}"#);
    assert_eq!(a.server.lists(), before + 1);
}

#[tokio::test(start_paused = true)]
async fn the_operator_fills_gaps_and_is_believed_before_the_server() {
    for (hint, only_reads, runs) in [
        (Some(ToolHint::Read), None, 2),
        (Some(ToolHint::Write), Some(true), 1),
        (None, Some(false), 1),
    ] {
        let a = looking();
        if let Some(only_reads) = only_reads {
            a.server.set_only_reading(only_reads);
        }
        let rig = rig_with(&a, |settings| {
            hint.into_iter().for_each(|hint| settings.hints.hint("lo*", hint));
        });
        let client = rig.client(Era::Legacy);
        names(&client).await;

        let answer = lost(&a, &client).await;

        assert_eq!(a.server.heard("look").len(), runs, "{hint:?} {answer:?}");
        assert_eq!(answer.is_ok(), runs == 2, "{hint:?} {answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_the_operator_lets_be_repeated_is_and_no_other() {
    let a = looking();
    let rig = rig_with(&a, |settings| settings.hints.repeat("look"));

    assert_eq!(lost(&a, &rig.client(Era::Legacy)).await.unwrap(), r#"a {"a":1}"#);
}

/// A server whose tools say that they only read, and a gateway in front of it.
fn reading() -> (Behind, Rig) {
    let a = looking();
    a.server.set_only_reading(true);
    let rig = rig_with(&a, |_| {});
    (a, rig)
}

fn looking() -> Behind {
    Behind::new("a", &["look", "who"])
}

/// A gateway in front of it. Without sessions, nothing that is lost can be asked for again.
fn rig_with(a: &Behind, change: impl FnOnce(&mut ServerSettings)) -> Rig {
    let mut settings = a.stateless();
    change(&mut settings);
    Rig::new(vec![settings])
}

/// Calls a tool whose first answer is lost with its connection.
async fn lost(a: &Behind, client: &Client) -> Result<String, String> {
    let looking = tokio::spawn(client.call_tool("a_look", json!({"a": 1})).into_future());
    sleep(secs(2)).await;
    a.way.cut();
    let answer = looking.await.unwrap();
    answer.map(|answer| answer.text()).map_err(|error| error.to_string())
}
