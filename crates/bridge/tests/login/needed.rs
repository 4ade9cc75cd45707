//! Calls while a login is needed, and after it.

use ridethrough_bridge::State;
use ridethrough_oauth::KeepClient;
use serde_json::json;
use tokio::time::{Duration, Instant};

use crate::rig::{Host, methods, secs};
use crate::stage::{Stage, answers, initialize, words};

#[tokio::test]
async fn the_host_is_greeted_at_once_and_told_when_somebody_has_logged_in() {
    let stage = Stage::new().await;
    let (mut host, began) = (Host::start(stage.bridge()), Instant::now());
    let greeting = initialize(&mut host, json!({})).await;
    assert!(greeting["result"]["capabilities"]["tools"]["listChanged"] == true, "{greeting}");
    assert!(began.elapsed() < secs(2), "{:?}", began.elapsed());
    host.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let unheard = host.asked(1, "tools/list", json!({})).await;
    assert!(words(&unheard).contains("needs a login"), "{unheard}");

    stage.log_in_elsewhere().await;
    let (logged_in, told) = (Instant::now(), host.hear_json().await);

    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert!(logged_in.elapsed() < secs(1), "{:?}", logged_in.elapsed());
    let tools = host.asked(2, "tools/list", json!({})).await;
    assert!(tools["result"]["tools"].is_array(), "{tools}");
    host.call(3, "hello").await;
    assert!(host.hear_json().await["result"].is_object());
}

#[tokio::test]
async fn a_call_is_told_which_server_and_which_command_and_that_it_was_not_sent() {
    let stage = Stage::new().await;
    let mut host = stage.host().await;

    host.call(1, "hello").await;
    let answer = host.hear_json().await;

    let url = stage.world.mcp_url();
    let expected = format!("`files` ({url}) needs a login: nobody has logged in yet\n");
    assert!(words(&answer).starts_with(&expected), "{answer}");
    assert!(words(&answer).contains("run `ridethrough login files`"), "{answer}");
    assert!(words(&answer).contains("do not retry"), "{answer}");
    let data = &answer["error"]["data"];
    assert_eq!((&data["kind"], &data["mayHaveRun"]), (&json!("loginNeeded"), &json!(false)));
    assert_eq!(data["command"], "ridethrough login files");
}

/// The bridge asked for a login with every later call, until it was restarted.
#[tokio::test]
async fn the_401_of_a_service_behind_a_tool_is_no_reason_for_a_login() {
    for is_logged_in in [false, true] {
        let stage = Stage::new().await;
        stage.world.state().wants_no_token = !is_logged_in;
        if is_logged_in {
            stage.log_in_elsewhere().await;
        }
        let mut host = stage.host().await;

        for id in [1, 2] {
            let params = json!({"name": "behind", "arguments": {"id": id}});
            let refused = host.asked(id, "tools/call", params).await;
            let facts = &refused["result"]["_meta"]["ridethrough/doubt"];
            assert_eq!(facts["status"], 401, "{refused}");
        }
        host.call(3, "hello").await;

        let answer = host.hear_json().await;
        assert!(answer["result"].is_object(), "{answer}");
        assert_eq!(stage.world.token_forms("refresh_token").len(), 0);
    }
}

#[tokio::test]
async fn fifty_calls_cost_no_request_and_people_are_told_once() {
    let stage = Stage::new().await;
    let mut host = stage.host().await;
    host.call(1, "hello").await;
    host.hear_json().await;
    let asked = stage.asked();

    let ids: Vec<u64> = (2..52).collect();
    for id in &ids {
        host.call(*id, "hello").await;
    }
    let (answered, _) = answers(&mut host, &ids).await;

    assert!(answered.iter().all(|it| words(it).contains("needs a login")));
    assert_eq!(stage.asked(), asked, "the server was asked");
    let told = host.told();
    let lines = told.iter().filter(|line| line.contains("needs a login"));
    assert_eq!(lines.count(), 1, "{told:?}");
}

#[tokio::test]
async fn a_host_that_says_hello_again_is_greeted_and_costs_no_request() {
    let stage = Stage::new().await;
    let mut host = stage.host().await;
    let asked = stage.asked();

    for _ in 0..10 {
        let greeting = initialize(&mut host, json!({})).await;
        assert!(greeting["result"].is_object(), "{greeting}");
    }

    assert_eq!(stage.asked(), asked);
}

#[tokio::test]
async fn a_server_that_wants_a_login_is_left_alone() {
    let stage = Stage::new().await;
    let mut host = stage.host().await;
    host.call(1, "hello").await;
    host.hear_json().await;
    let asked = stage.asked();
    tokio::time::pause();

    tokio::time::sleep(secs(1800)).await;

    assert_eq!(stage.asked(), asked);
}

#[tokio::test]
async fn a_logout_elsewhere_ends_in_a_login_that_is_needed_and_in_no_loop() {
    let stage = Stage::new().await;
    let elsewhere = stage.log_in_elsewhere().await;
    let mut host = stage.host().await;
    host.call(1, "hello").await;
    assert!(host.hear_json().await["result"].is_object());

    elsewhere.log_out(KeepClient::Yes).await.unwrap();
    host.call(2, "hello").await;
    let refused = host.hear_json().await;
    let asked = stage.asked();
    host.call(3, "hello").await;
    let again = host.hear_json().await;

    assert!(words(&refused).contains("needs a login"), "{refused}");
    assert!(words(&again).contains("needs a login"), "{again}");
    assert_eq!(stage.asked(), asked);
    stage.log_in_elsewhere().await;
    wait_for(&host, "somebody has logged in").await;
    host.call(4, "hello").await;
    assert!(host.hear_json().await["result"].is_object());
}

/// The host asked for its tools while no person was logged in, though the server had been reachable.
#[tokio::test]
async fn a_list_that_was_refused_is_announced_after_the_login() {
    let stage = Stage::new().await;
    let elsewhere = stage.log_in_elsewhere().await;
    let mut host = stage.host().await;
    host.call(1, "hello").await;
    host.hear_json().await;
    elsewhere.log_out(KeepClient::Yes).await.unwrap();
    host.call(2, "hello").await;
    host.hear_json().await;
    let refused = host.asked(3, "tools/list", json!({})).await;
    assert!(words(&refused).contains("needs a login"), "{refused}");

    stage.log_in_elsewhere().await;

    let told = host.hear_json().await;
    assert_eq!(methods(&[told]), ["notifications/tools/list_changed"]);
}

#[tokio::test]
async fn a_server_whose_refusals_were_a_fault_costs_nobody_a_login() {
    let stage = Stage::new().await;
    stage.log_in_elsewhere().await;
    let mut host = stage.host().await;
    host.call(1, "hello").await;
    assert!(host.hear_json().await["result"].is_object());
    stage.world.state().refuses_all_tokens = true;
    host.call(2, "hello").await;
    assert!(words(&host.hear_json().await).contains("refuses a token that was just issued"));
    stage.world.state().refuses_all_tokens = false;
    host.call(3, "hello").await;
    assert!(words(&host.hear_json().await).contains("needs a login"), "it is asked each time");

    tokio::time::pause();
    tokio::time::advance(secs(61)).await;
    tokio::time::resume();
    host.call(4, "hello").await;

    assert!(host.hear_json().await["result"].is_object());
    wait_for(&host, "going on").await;
    host.call(5, "hello").await;
    assert!(host.hear_json().await["result"].is_object());
}

#[tokio::test]
async fn a_token_that_the_server_repeats_in_an_error_does_not_reach_the_host() {
    let stage = Stage::new().await;
    stage.log_in_elsewhere().await;
    let mut host = stage.host().await;

    host.call(1, "scold").await;
    let answer = host.hear_json().await;

    assert_eq!(words(&answer), "what is ...?");
}

#[tokio::test]
async fn a_gauge_shows_the_login_that_is_needed() {
    let stage = Stage::new().await;
    let bridge = stage.bridge();
    let gauge = bridge.gauge();
    let mut host = Host::start(bridge);
    initialize(&mut host, json!({})).await;

    let seen = gauge.read().await.unwrap();

    assert_eq!(seen.state, State::LoginNeeded);
    let login = seen.login.unwrap();
    assert_eq!(login.command, "ridethrough login files");
    assert_eq!(login.reason, "nobody has logged in yet");
}

/// Waits until people are shown these words.
pub(crate) async fn wait_for(host: &Host, words: &str) {
    let waiting = async {
        while !host.told().iter().any(|line| line.contains(words)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = tokio::time::timeout(secs(5), waiting).await;
    waited.unwrap_or_else(|_| panic!("nobody was told: {:?}", host.told()));
}
