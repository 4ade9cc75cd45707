//! A server that closes each connection after an answer, without announcing it.

use std::collections::BTreeSet;
use std::sync::Mutex;

use ridethrough_lab::{Entry, Protocol, Times, When};
use tokio::time::sleep;

use crate::rig::{Rig, call, secs};

/// The second request on a connection meets its end, unanswered: the client cannot know whether the server
/// read it. That must happen to a few calls and then to none.
#[tokio::test(start_paused = true)]
async fn after_a_few_lost_calls_the_others_get_fresh_connections() {
    for protocol in [Protocol::Http1, Protocol::Http1Tls] {
        let rig = Rig::over(protocol);
        one_answer_per_connection(&rig);
        let client = rig.client();

        let mut results = Vec::new();
        for number in 0..20 {
            results.push(call(&client, "deploy", &number.to_string()).await);
            sleep(secs(2)).await;
        }

        let in_doubt: Vec<usize> = results
            .iter()
            .enumerate()
            .filter(|(_, result)| result.as_ref().is_err_and(ridethrough::Error::may_have_run))
            .map(|(number, _)| number)
            .collect();
        assert!(in_doubt.iter().all(|number| *number < 8), "{protocol:?}: {in_doubt:?}");
        assert!(results[8..].iter().all(Result::is_ok), "{protocol:?}: {:?}", &results[8..]);
    }
}

/// A server that keeps its connections must not pay for one that did not.
#[tokio::test(start_paused = true)]
async fn connections_are_used_again_once_that_has_proved_good() {
    let rig = Rig::over(Protocol::Http1);
    one_answer_per_connection(&rig);
    let client = rig.client();
    for number in 0..12 {
        // Some of these calls are lost, as in the test before.
        let _ = call(&client, "deploy", &number.to_string()).await;
        sleep(secs(2)).await;
    }
    rig.mcp.clear_rules();

    sleep(secs(600)).await;
    call(&client, "deploy", "first").await.unwrap();
    let before = rig.server.connections();
    for number in 0..20 {
        call(&client, "deploy", &number.to_string()).await.unwrap();
        sleep(secs(2)).await;
    }

    assert_eq!(rig.server.connections(), before);
}

fn one_answer_per_connection(rig: &Rig) {
    let seen = Mutex::new(BTreeSet::new());
    let is_second = move |entry: &Entry| !seen.lock().unwrap().insert(entry.connection);
    rig.mcp.rule(When::matches(is_second), Times::Always, |ask| ask.reply().1.close());
}
