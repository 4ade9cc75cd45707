//! Lists: their pages are followed to the end, and a list without one is given up.

use std::time::Duration;

use ridethrough::error::Kind;
use ridethrough::{Client, Error};
use ridethrough_lab::{Ask, Protocol, Times, When};
use serde_json::{Value, json};

use crate::rig::{Rig, secs};

#[tokio::test(start_paused = true)]
async fn every_page_of_a_list_is_followed_and_its_items_stay_in_order() {
    let (rig, client) = rig();
    pages(&rig, |cursor| match cursor {
        None => page(&["a", "b"], Some("2")),
        Some("2") => page(&[], Some("3")),
        Some(_) => page(&["c"], None),
    });

    let tools = client.tools().await.unwrap();

    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(rig.count(When::method("tools/list")), 3);
}

#[tokio::test(start_paused = true)]
async fn a_page_can_be_asked_for_alone() {
    let (rig, client) = rig();
    pages(&rig, |cursor| page(&[cursor.unwrap_or("first")], Some("next")));

    let first = client.tools().page(None).await.unwrap();
    let other = client.tools().page(Some("x")).await.unwrap();

    assert_eq!(first.next_cursor.as_deref(), Some("next"));
    assert_eq!((first.items[0].name.as_str(), other.items[0].name.as_str()), ("first", "x"));
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_cursor_comes_twice_is_given_up() {
    let (rig, client) = rig();
    pages(&rig, |_| page(&["a"], Some("again")));

    let error = client.tools().await.unwrap_err();

    assert_eq!(error.to_string(), "`tools/list` was given up after 2 pages: a cursor came twice");
    assert!(error.report().contains("hint: "));
    assert_eq!(rig.count(When::method("tools/list")), 2);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_goes_on_and_on_is_given_up_after_so_many_pages() {
    let (rig, client) = rig();
    pages(&rig, |cursor| {
        let number: u64 = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        page(&["a"], Some(&(number + 1).to_string()))
    });

    let few = client.tools().most_pages(3).await.unwrap_err();
    let asked = rig.count(When::method("tools/list"));
    let many = client.tools().await.unwrap_err();

    assert!(matches!(few, Error::Endless { pages: 3, .. }), "{few}");
    assert_eq!(asked, 3);
    assert!(matches!(many, Error::Endless { pages: 1000, .. }), "{many}");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_too_large_is_given_up() {
    let (rig, client) = rig();
    pages(&rig, |cursor| {
        let number: u64 = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        page(&[&"x".repeat(10 << 20)], Some(&(number + 1).to_string()))
    });

    let error = client.tools().await.unwrap_err();

    assert!(matches!(error, Error::Endless { pages: 7, .. }), "{error}");
}

/// A cursor belongs to a session; a session that was renewed between two pages does not know it.
#[tokio::test(start_paused = true)]
async fn a_list_whose_cursor_is_no_longer_known_is_begun_again_once() {
    let (rig, client) = rig();
    rig.mcp.rule(When::method("tools/list"), Times::Always, |ask| {
        let reply = match cursor(&ask).as_deref() {
            None => ask.result(page(&["a"], Some("old"))),
            Some(_) => ask.error(-32602, "Invalid cursor"),
        };
        async move { ask.json(reply).await }
    });

    let error = client.tools().await.unwrap_err();

    assert_eq!(error.server().unwrap().rpc.code, -32602);
    assert_eq!(rig.count(When::method("tools/list")), 4);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_list_is_for_all_its_pages() {
    let (rig, client) = rig();
    client.connect().await.unwrap();
    rig.mcp.rule(When::method("tools/list"), Times::Always, |ask| async move {
        let number: u64 = cursor(&ask).map_or(0, |cursor| cursor.parse().unwrap());
        let reply = ask.result(page(&["a"], Some(&(number + 1).to_string())));
        tokio::time::sleep(secs(4)).await;
        ask.json(reply).await;
    });
    let began = tokio::time::Instant::now();

    let error = client.tools().timeout(secs(10)).await.unwrap_err();

    assert_eq!(error.call().unwrap().kind, Kind::DeadlinePassed);
    let took = began.elapsed();
    assert!(took >= secs(10) && took < secs(10) + Duration::from_millis(100), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_header_of_a_list_goes_out_with_each_page_and_with_nothing_else() {
    let (rig, client) = rig();
    pages(&rig, |cursor| page(&["a"], cursor.is_none().then_some("2")));

    client.tools().header("x-tenant", "blue").await.unwrap();
    client.ping().await.unwrap();

    let log = rig.mcp.log();
    let tenants: Vec<_> = log.iter().filter_map(|entry| entry.header("x-tenant")).collect();
    assert_eq!(tenants, ["blue", "blue"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_may_have_all_the_time_there_is() {
    let (rig, client) = rig();
    pages(&rig, |_| page(&["a"], None));

    let tools = client.tools().timeout(Duration::MAX).await.unwrap();

    assert_eq!(tools.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn each_list_has_its_own_method_and_key() {
    let (rig, client) = rig();
    for (method, result) in [
        ("resources/list", json!({"resources": [{"uri": "a:1", "name": "one", "size": 7}]})),
        (
            "resources/templates/list",
            json!({"resourceTemplates": [{"uriTemplate": "a:{x}", "name": "t"}]}),
        ),
        (
            "prompts/list",
            json!({"prompts": [{"name": "p", "arguments": [{"name": "a", "required": true}]}]}),
        ),
    ] {
        rig.mcp.rule(When::method(method), Times::Always, move |ask| {
            let body = ask.result(result.clone());
            async move { ask.json(body).await }
        });
    }

    let resources = client.resources().await.unwrap();
    let templates = client.resource_templates().await.unwrap();
    let prompts = client.prompts().await.unwrap();

    assert_eq!((resources[0].uri.as_str(), resources[0].size), ("a:1", Some(7)));
    assert_eq!(templates[0].uri_template, "a:{x}");
    assert!(prompts[0].arguments[0].required);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_none_is_an_error_with_what_was_sent() {
    let (rig, client) = rig();
    pages(&rig, |_| json!({"tools": {}}));

    let error = client.tools().await.unwrap_err();

    assert!(matches!(error, Error::Answer { .. }), "{error}");
}

fn rig() -> (Rig, Client) {
    let rig = Rig::over(Protocol::Http1);
    let client = rig.client();
    (rig, client)
}

/// Answers `tools/list` with the page of its cursor.
fn pages(rig: &Rig, result: impl Fn(Option<&str>) -> Value + Send + Sync + 'static) {
    rig.mcp.rule(When::method("tools/list"), Times::Always, move |ask| {
        let body = ask.result(result(cursor(&ask).as_deref()));
        async move { ask.json(body).await }
    });
}

fn page(tools: &[&str], next: Option<&str>) -> Value {
    let tools: Vec<Value> = tools.iter().map(|name| json!({ "name": name })).collect();
    match next {
        None => json!({ "tools": tools }),
        Some(next) => json!({ "tools": tools, "nextCursor": next }),
    }
}

fn cursor(ask: &Ask) -> Option<String> {
    ask.params()["cursor"].as_str().map(str::to_owned)
}
