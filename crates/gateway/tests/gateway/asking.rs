//! Questions of servers in the middle of a call: each goes to the caller of that call.

use ridethrough::model::Elicited;
use ridethrough::{Client, ClientBuilder, Era, Json};
use ridethrough_gateway::Share;
use serde_json::json;

use crate::rig::{Behind, ERAS, names, rig_of};

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

/// A client that answers every form with its name and what it was asked.
fn named(builder: ClientBuilder, name: &'static str) -> Client {
    let answer = move |message: String| {
        let content = json!({ "name": format!("{name} {message}") });
        Elicited::Accepted(Json::from(content))
    };
    builder.on_form(move |form| async move { answer(form.message) }).build().unwrap()
}
