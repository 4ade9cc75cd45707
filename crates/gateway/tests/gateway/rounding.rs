//! Rounds of input between a stateless caller and a stateless server: they pass through, and nothing is held.

use std::sync::Arc;

use ridethrough::model::Elicited;
use ridethrough::{Client, Era, Error, Json};
use ridethrough_gateway::GatewaySettings;
use ridethrough_server::SealKey;
use serde_json::{Value, json};

use crate::rig::{Behind, Rig, names, secs};

#[tokio::test(start_paused = true)]
async fn a_round_passes_through_and_the_server_gets_its_own_state_back() {
    let (_, rig) = asking();
    let client = rig
        .builder(Era::Modern, "/mcp")
        .on_form(|_| async { Elicited::Accepted(Json::from(json!({"name": "Ada"}))) });
    let client = client.build().unwrap();
    names(&client).await;

    for stateful in [true, false] {
        let arguments = json!({"say": "who?", "stateful": stateful});
        let said = client.call_tool("a_ask", arguments).await.unwrap().text();

        let state = if stateful { "\"st\u{e9}te\"" } else { "null" };
        assert!(said.starts_with(state) && said.contains("Ada"), "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_held_in_the_gateway_while_the_caller_is_asked() {
    let (_, rig) = asking();
    let client = raw(&rig);

    first_round(&client, "who?").await;

    assert_eq!(rig.gateway.status().await[0].in_flight, 0);
}

/// The caller may take as long as it likes within the time, and come back at another gateway.
#[tokio::test(start_paused = true)]
async fn a_state_is_not_the_servers_and_shows_nothing_of_it() {
    let (_, rig) = asking();

    let (state, _) = first_round(&raw(&rig), "who?").await;

    assert!(!state.contains("st\u{e9}te"), "{state}");
}

#[tokio::test(start_paused = true)]
async fn a_forged_or_altered_state_is_refused_and_nothing_is_sent() {
    let (a, rig) = asking();
    let client = raw(&rig);
    let (state, _) = first_round(&client, "who?").await;
    let sent = a.server.heard("tools/call").len();
    let mut altered = state.clone().into_bytes();
    altered[20] = if altered[20] == b'A' { b'B' } else { b'A' };
    let altered = String::from_utf8(altered).unwrap();

    for state in ["", "st\u{e9}te", "AAAA", &altered, &state[1..], &format!("{state}A")] {
        refused(second_round(&client, "who?", state).await, "not known here");
    }

    assert_eq!(a.server.heard("tools/call").len(), sent);
}

#[tokio::test(start_paused = true)]
async fn a_state_of_another_principal_or_of_another_call_is_refused_and_nothing_is_sent() {
    let (a, rig) = asking();
    let client = raw(&rig);
    let bob = rig.bob(Era::Modern);
    names(&bob).await;
    let (state, _) = first_round(&client, "who?").await;
    let sent = a.server.heard("tools/call").len();

    refused(second_round(&bob, "who?", &state).await, "not known here");
    refused(second_round(&client, "what?", &state).await, "another call");

    assert_eq!(a.server.heard("tools/call").len(), sent);
}

#[tokio::test(start_paused = true)]
async fn a_late_state_is_refused_and_nothing_is_sent() {
    let (a, rig) = asking();
    let client = raw(&rig);
    let (state, _) = first_round(&client, "who?").await;
    let sent = a.server.heard("tools/call").len();

    tokio::time::sleep(secs(600)).await;

    refused(second_round(&client, "who?", &state).await, "too old");
    assert_eq!(a.server.heard("tools/call").len(), sent);
}

/// The call would run twice.
#[tokio::test(start_paused = true)]
async fn a_state_that_comes_twice_is_good_once() {
    let (a, rig) = asking();
    let client = raw(&rig);
    let (state, _) = first_round(&client, "who?").await;

    let both =
        tokio::join!(second_round(&client, "who?", &state), second_round(&client, "who?", &state));

    let (good, bad) = if both.0.is_ok() { both } else { (both.1, both.0) };
    assert!(good.unwrap().as_str().contains("Ada"));
    refused(bad, "used before");
    refused(second_round(&client, "who?", &state).await, "used before");
    let heard = a.server.heard("tools/call");
    assert_eq!(heard.iter().filter(|it| it.contains("inputResponses")).count(), 1);
}

/// A caller that was refused for a moment may come again.
#[tokio::test(start_paused = true)]
async fn a_state_whose_round_was_not_sent_is_still_good() {
    let a = Behind::new("a", &["ask", "hang"]);
    a.server.become_stateless();
    let mut settings = a.stateless();
    (settings.places, settings.queue) = (1, 0);
    let rig = Rig::new(vec![settings]);
    let client = raw(&rig);
    let (state, _) = first_round(&client, "who?").await;
    let other = raw(&rig);
    let hanging = tokio::spawn(other.call_tool("a_hang", ()).into_future());
    tokio::time::sleep(secs(1)).await;

    let refused = second_round(&client, "who?", &state).await.unwrap_err();
    hanging.abort();
    tokio::time::sleep(secs(1)).await;

    assert!(refused.to_string().contains("calls are under way"), "{refused}");
    let said = second_round(&client, "who?", &state).await.unwrap();
    assert!(said.as_str().contains("Ada"), "{}", said.as_str());
}

/// What a server says of its own work is no proof.
#[tokio::test(start_paused = true)]
async fn a_state_whose_round_the_server_says_it_did_not_run_is_used() {
    let (a, rig) = asking();
    let client = raw(&rig);
    let (state, _) = first_round(&client, "lie").await;

    let Err(Error::Server(error)) = second_round(&client, "lie", &state).await else { panic!() };
    assert_eq!(error.rpc.code, -32000);

    refused(second_round(&client, "lie", &state).await, "used before");
    let heard = a.server.heard("tools/call");
    assert_eq!(heard.iter().filter(|it| it.contains("inputResponses")).count(), 1);
}

/// What was used at the gateway before is not known.
#[tokio::test(start_paused = true)]
async fn a_state_of_an_earlier_gateway_is_refused_though_the_key_is_the_same() {
    let a = Behind::new("a", &["ask"]);
    a.server.become_stateless();
    let life = || {
        let mut settings = GatewaySettings::default();
        settings.seal_key = Arc::new(SealKey::new(&[1; SealKey::LENGTH]));
        Rig::with(vec![a.stateless()], settings)
    };
    let (first, second) = (life(), life());
    let (state, _) = first_round(&raw(&first), "who?").await;

    refused(second_round(&raw(&second), "who?", &state).await, "not known here");
}

/// What a caller cannot be asked, its server must not ask: it sees what this caller can do.
#[tokio::test(start_paused = true)]
async fn a_server_sees_what_each_caller_can_do() {
    let (a, rig) = asking();
    let (plain, able) = (rig.client(Era::Modern), raw(&rig));
    names(&plain).await;

    drop(plain.call_tool("a_ask", json!({"say": "1"})).await);
    first_round(&able, "2").await;

    let heard = a.server.heard("tools/call");
    let offers: Vec<_> = heard.iter().map(|it| it.contains("elicitation")).collect();
    assert_eq!(offers, [false, true]);
}

/// The server has seen what this caller can do, so the caller must learn what it lacks.
#[tokio::test(start_paused = true)]
async fn a_caller_that_lacks_what_a_tool_needs_is_told_what_that_is() {
    let (_, rig) = asking();

    let outcome = raw(&rig).request("tools/call", json!({"name": "a_needy"})).await;

    let Err(Error::Server(error)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.rpc.code, -32021);
    assert!(error.json.as_str().contains(r#""requiredCapabilities":{"sampling":{}}"#), "{error}");
}

fn asking() -> (Behind, Rig) {
    let a = Behind::new("a", &["ask", "needy"]);
    a.server.become_stateless();
    let rig = Rig::new(vec![a.stateless()]);
    (a, rig)
}

/// A client that handles rounds by itself.
fn raw(rig: &Rig) -> Client {
    let can = json!({"elicitation": {"form": {}}});
    rig.builder(Era::Modern, "/mcp").capabilities(can).build().unwrap()
}

/// Makes a call, and returns the state and the result that asks something.
async fn first_round(client: &Client, say: &str) -> (String, Value) {
    let call = client.request("tools/call", json!({"name": "a_ask", "arguments": {"say": say}}));
    let result: Value = call.passing_input().await.unwrap().read().unwrap();
    assert_eq!(result["resultType"], "input_required", "{result}");
    (result["requestState"].as_str().unwrap().to_owned(), result)
}

async fn second_round(client: &Client, say: &str, state: &str) -> Result<Json, Error> {
    let accepted = json!({"action": "accept", "content": {"name": "Ada"}});
    let params = json!({"name": "a_ask", "arguments": {"say": say}, "requestState": state,
        "inputResponses": {"who": accepted}});
    client.request("tools/call", params).passing_input().await
}

fn refused(outcome: Result<Json, Error>, why: &str) {
    let Err(Error::Server(error)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.rpc.code, -32602);
    assert!(error.rpc.message.contains(why), "{}", error.rpc.message);
}
