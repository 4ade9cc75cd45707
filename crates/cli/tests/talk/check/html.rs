//! The report as a page: its contents, and what a server cannot put on it.

use ridethrough_lab::{Mood, When};
use serde_json::json;

use super::healthy;
use crate::rig::Rig;
use crate::snapshots::{assert_snapshot, settled};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shots_the_page_of_a_healthy_server_is_what_it_was() {
    let rig = healthy().await;

    let ran = rig.run(&["check", "SERVER", "--html", "-"]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    // The style is that of the lab, and is compared there.
    let (before, rest) = ran.out.split_once("<style>").unwrap();
    let (_, after) = rest.split_once("</style>").unwrap();
    let page = format!("{before}<style></style>{after}").replace("><", ">\n<");
    let (before, rest) = page.split_once("checked on ").unwrap();
    let rest = rest.get("2026-11-17".len()..).unwrap();
    let page = settled(&format!("{before}checked on DAY{rest}"), &rig.url);
    assert_snapshot("check-page", &without_shares(&page));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_is_written_beside_the_report_also_for_a_server_that_is_not_there() {
    let rig = Rig::new().await;
    rig.server.set_mood(Mood::Down);

    let ran = rig.run(&["check", "SERVER", "--html", "report.html"]).await;

    let page = std::fs::read_to_string(rig.folder.join("report.html")).unwrap();
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.out.contains("problem found"), "{ran:?}");
    assert!(page.starts_with("<!doctype html>") && page.contains("class=\"run fail\""), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_a_server_says_becomes_markup_or_shows_a_secret() {
    let rig = Rig::new().await;
    let nasty = "<script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}\u{1b}[2J s3cret-key";
    rig.mcp
        .tools(json!([{"name": nasty, "description": nasty, "inputSchema": {"type": "object"}}]));
    rig.rule(
        When::method("initialize"),
        json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": nasty, "version": "1"}}),
    );

    let words = ["check", "SERVER", "--html", "-", "--header", "X-Api-Key: s3cret-key"];
    let page = rig.run(&words).await.out;

    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    for harm in ["<script", "<img", "s3cret-key", "\u{202e}", "\u{1b}"] {
        assert!(!page.contains(harm), "{harm:?}: {page}");
    }
    assert!(page.contains("default-src 'none'"), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_cannot_be_written_is_told_before_anything_is_asked() {
    let rig = Rig::new().await;

    let nowhere = rig.run(&["check", "SERVER", "--html", "no/such/folder/x.html"]).await;
    let both = rig.run(&["check", "SERVER", "--html", "-", "--json"]).await;

    assert_eq!((nowhere.code, both.code), (Some(2), Some(2)), "{nowhere:?} {both:?}");
    assert!(nowhere.err.contains("cannot be written"), "{nowhere:?}");
    assert!(rig.mcp.log().is_empty());
}

/// Returns the page without the lengths of the bar, which only repeat the counts of the findings.
fn without_shares(page: &str) -> String {
    page.lines()
        .filter(|line| !line.contains("flex-grow"))
        .map(|line| format!("{line}\n"))
        .collect()
}
