//! Lists of many pages: the pages that were read are judged, and the others are mentioned.

use ridethrough_lab::{Times, When};
use serde_json::{Value, json};

use super::{assert_finding, checked, find};
use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_are_judged_though_a_later_page_fails() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::method("tools/list"), Times::Always, |ask| async move {
        let is_first = ask.params()["cursor"].is_null();
        let page = ask.result(page(Some("2")));
        if is_first { ask.json(page).await } else { ask.status(503, &[], "").await }
    });

    let report = checked(&rig).await;

    assert_finding(&report, "list", "good", "lists 1 tool");
    assert_finding(&report, "schemas", "warning", "`bare`");
    assert_finding(&report, "rest", "unknown", "`tools/list` brings 503");
    assert_eq!(report["tools"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_was_not_read_to_its_end_says_so() {
    let endless = listed(|cursor| Some(format!("{cursor}+"))).await;
    let circle = listed(|_| Some("again".to_owned())).await;
    let whole = listed(|_| None).await;

    assert_finding(&endless, "rest", "note", "only the first 10 were looked at");
    assert_finding(&circle, "rest", "warning", "a page names itself as the next");
    assert!(find(&whole, "rest").is_none(), "{whole}");
}

/// Returns the report on a server whose pages name these next ones.
async fn listed(next: fn(&Value) -> Option<String>) -> Value {
    let rig = Rig::new().await;
    rig.mcp.rule(When::method("tools/list"), Times::Always, move |ask| async move {
        let next = next(&ask.params()["cursor"]);
        let page = ask.result(page(next.as_deref()));
        ask.json(page).await;
    });
    checked(&rig).await
}

fn page(next: Option<&str>) -> Value {
    match next {
        Some(next) => json!({"tools": [{"name": "bare"}], "nextCursor": next}),
        None => json!({"tools": [{"name": "bare"}]}),
    }
}
