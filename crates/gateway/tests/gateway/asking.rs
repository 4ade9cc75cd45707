//! Questions of servers in the middle of a call: each goes to the caller of that call.

use ridethrough::model::Elicited;
use ridethrough::{Client, ClientBuilder, Era, Json};
use ridethrough_gateway::Share;
use serde_json::json;
use tokio::sync::{mpsc, watch};

use crate::rig::{Behind, ERAS, call, names, rig_of};

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_by_the_caller_in_either_era() {
    for share in [Share::Session, Share::All, Share::User] {
        let mut a = Behind::new("a", &["ask"]);
        a.settings.share = share;
        let rig = rig_of(&[&a]);
        for era in ERAS {
            let client = named(rig.builder(era, "/mcp"), "Ada");
            names(&client).await;

            let said = client.call_tool("a_ask", json!({"say": "who?"})).await.unwrap().text();

            assert!(said.contains("Ada") && said.contains("accept"), "{share:?} {era:?} {said}");
        }
    }
}

/// On one link the server's questions differ by nothing but the call that they came with.
#[tokio::test(start_paused = true)]
async fn two_callers_who_share_a_link_are_each_asked_their_own_question() {
    let mut a = Behind::new("a", &["ask"]);
    a.settings.share = Share::All;
    let rig = rig_of(&[&a]);
    let ada = named(rig.builder(Era::Legacy, "/mcp"), "Ada");
    let bob = named(rig.builder(Era::Legacy, "/mcp"), "Bob");
    names(&ada).await;
    names(&bob).await;

    for round in 0..50 {
        let ask = |client: &Client, who: &str| {
            client.call_tool("a_ask", json!({"say": format!("{who}{round}")})).into_future()
        };
        let (one, other) = tokio::join!(ask(&ada, "Ada"), ask(&bob, "Bob"));

        let (one, other) = (one.unwrap().text(), other.unwrap().text());
        assert!(one.contains(&format!("Ada Ada{round}")), "{one}");
        assert!(other.contains(&format!("Bob Bob{round}")), "{other}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_cannot_be_asked_is_not() {
    let mut a = Behind::new("a", &["ask"]);
    a.settings.share = Share::All;
    let rig = rig_of(&[&a]);
    let client = rig.client(Era::Legacy);
    names(&client).await;

    let said = client.call_tool("a_ask", json!({"say": "who?"})).await.unwrap().text();

    assert!(said.contains("-32601"), "{said}");
}

/// A person may take an hour to fill in a form, and the server works on nothing meanwhile.
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_person_keeps_no_place_from_others() {
    for era in ERAS {
        let mut a = Behind::new("a", &["ask", "echo"]);
        a.settings.places = 1;
        a.settings.queue = 0;
        let rig = rig_of(&[&a]);
        let (asked, mut asking) = mpsc::channel(1);
        let (answer, answered) = watch::channel(false);
        let slow = rig.builder(era, "/mcp").on_form(move |_| {
            let (asked, mut answered) = (asked.clone(), answered.clone());
            async move {
                asked.send(()).await.unwrap();
                answered.wait_for(|it| *it).await.unwrap();
                Elicited::Accepted(Json::from(json!({ "name": "Ada" })))
            }
        });
        let slow = slow.build().unwrap();
        names(&slow).await;
        let waiting = slow.call_tool("a_ask", json!({"say": "who?"}));
        let waiting = tokio::spawn(waiting.into_future());
        asking.recv().await.unwrap();

        let other = rig.client(era);
        assert!(!call(&other, "a_echo").await.is_empty(), "{era:?}");
        let status = rig.gateway.status().await.remove(0);
        assert_eq!((status.in_flight, status.asking), (0, 1), "{era:?}");
        answer.send_replace(true);

        let said = waiting.await.unwrap().unwrap().text();
        assert!(said.contains("Ada"), "{era:?} {said}");
        let status = rig.gateway.status().await.remove(0);
        assert_eq!((status.in_flight, status.asking), (0, 0), "{era:?}");
    }
}

/// A client that answers every form with its name and what it was asked.
fn named(builder: ClientBuilder, name: &'static str) -> Client {
    let answer = move |message: String| {
        let content = json!({ "name": format!("{name} {message}") });
        Elicited::Accepted(Json::from(content))
    };
    builder.on_form(move |form| async move { answer(form.message) }).build().unwrap()
}
