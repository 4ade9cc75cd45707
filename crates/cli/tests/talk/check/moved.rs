//! Redirects: which URL to use, and why one is not followed.

use ridethrough_lab::{Entry, Times, When};

use super::{answer_all, assert_advice, assert_finding, checked};
use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_of_many_steps_is_told_once_with_all_that_it_costs() {
    let rig = Rig::new().await;
    for (from, status, to) in [("/mcp", 308, "/a"), ("/a", 307, "/b/mcp")] {
        let is_there = move |it: &Entry| it.target == from;
        rig.mcp.rule(When::matches(is_there), Times::Always, move |ask| async move {
            ask.status(status, &[("location", to)], "").await;
        });
    }

    let report = checked(&rig).await;

    assert_finding(&report, "redirect", "note", "`/b/mcp` in 2 steps");
    assert_advice(&report, "/b/mcp` as its URL, if that is to stay");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_url_to_use_names_its_query_and_is_not_cut() {
    let rig = Rig::new().await;
    let long = format!("/{}/mcp", "deep".repeat(40));
    let (location, is_old) =
        (format!("{long}?key=s3cret"), |it: &Entry| it.target.starts_with("/mcp?"));
    rig.mcp.rule(When::matches(is_old), Times::Always, move |ask| {
        let location = location.clone();
        async move { ask.status(308, &[("location", &location)], "").await }
    });

    let ran = rig.run(&["check", "SERVER?key=s3cret", "--json"]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_advice(&ran.json(), &format!("{long}` with the same query as its URL"));
    assert!(!ran.out.contains("s3cret"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_that_is_not_followed_says_why() {
    for (status, location, words, advice) in [
        (302, "/v2/mcp", "follows 307 and 308 only", "/v2/mcp` as its URL"),
        (308, "/mcp", "again and again", "leads in a circle"),
        (308, "https://other.example/mcp", "credentials would go astray", "if you trust that"),
    ] {
        let rig = Rig::new().await;
        answer_all(&rig, move |ask| async move {
            ask.status(status, &[("location", location)], "").await;
        });

        let ran = rig.run(&["check", "SERVER", "--json"]).await;

        assert_eq!(ran.code, Some(8), "{ran:?}");
        assert_finding(&ran.json(), "redirect", "bad", words);
        assert_advice(&ran.json(), advice);
    }
}
