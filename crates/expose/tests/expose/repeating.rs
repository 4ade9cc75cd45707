//! Calls that are repeated after the child that they were made to has died.

use serde_json::{Value, json};

use crate::rig::{Rig, call, doubt_in};

#[tokio::test(start_paused = true)]
async fn a_call_whose_child_died_is_not_run_again_in_the_next_session() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut lost = rig.post(&session, call(1)).await;
    child.hear().await;
    child.die("exit status: 7", &[]);
    lost.event().await.unwrap();

    let (next, mut child) = rig.begin().await;
    let mut repeat = rig.post(&next, call(2)).await;
    let repeat = repeat.json().await;
    let mut other = rig.post(&next, look(3)).await;

    assert_eq!(doubt_in(&repeat)["kind"], "childDied", "{repeat}");
    let text = repeat["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.ends_with("the same call is taken again after 30 s."), "{text}");
    assert_eq!(child.hear().await["id"], 3, "the child heard the repeat");
    assert!(
        rig.news()
            .contains(&"session 2: a repeat of a call that may have run was not sent".to_owned())
    );

    child.answer(3, json!({})).await;
    other.rest().await;
    let _sent = rig.post(&next, call(4)).await;
    assert_eq!(child.hear().await["id"], 4, "who has looked may call again");
}

#[tokio::test(start_paused = true)]
async fn of_a_batch_only_the_repeat_is_held() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin_with("2025-03-26").await;
    let mut lost = rig.post(&session, call(1)).await;
    child.hear().await;
    child.die("exit status: 7", &[]);
    lost.event().await.unwrap();

    let (next, mut child) = rig.begin_with("2025-03-26").await;
    let mut batch = rig.post(&next, json!([call(2), look(3)])).await;
    let heard = child.hear().await;
    child.answer(3, json!({"done": true})).await;
    let answers = batch.rest().await;

    assert_eq!(heard["id"], 3);
    assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&json!(2), &json!(3)));
    assert!(doubt_in(&answers[0]).is_object());
}

fn look(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "get_it"}})
}
