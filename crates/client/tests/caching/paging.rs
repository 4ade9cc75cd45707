//! Lists of several pages, each of which is kept by itself.

use ridethrough::Client;
use ridethrough::call::Source;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::rig::{Asked, Said, Server, kept, minute, notification, result, secs};

#[tokio::test(start_paused = true)]
async fn each_page_is_kept_by_itself() {
    let server = pages(|asked, cursor| match cursor {
        None => page(asked, Some("2"), 600),
        Some("2") => page(asked, Some("3"), 60),
        Some(_) => page(asked, None, 600),
    });
    let client = server.client();
    let first = names(&client).await;
    assert_eq!(names(&client).await, first);
    assert_eq!(cursors(&server), [None, Some("2"), Some("3")].map(text));

    sleep(secs(100)).await;
    let later = client.tools().sourced().await.unwrap();

    assert_eq!(cursors(&server), [None, Some("2"), Some("3"), Some("2")].map(text));
    assert!(matches!(later.source, Source::Kept { age } if age == secs(100)));
}

/// The machine learns the annotations of tools from the pages that arrive, and begins with the first.
#[tokio::test(start_paused = true)]
async fn a_first_page_that_comes_anew_brings_the_later_ones_anew() {
    let schema = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"}
    }});
    let server = pages(move |_, cursor| match cursor {
        // The page is equal each time: nothing in it shows that the tools changed.
        None => kept(json!({"tools": [{"name": "near"}], "nextCursor": "2"}), 60_000, "private"),
        Some(_) => {
            let tool = json!({"name": "far", "inputSchema": schema});
            kept(json!({"tools": [tool]}), 600_000, "private")
        }
    });
    let client = server.client();
    names(&client).await;
    sleep(secs(100)).await;

    names(&client).await;
    client.call_tool("far", json!({"region": "eu"})).await.unwrap();

    assert_eq!(cursors(&server), [None, Some("2"), None, Some("2")].map(text));
    let call = &server.asked("tools/call")[0];
    let region = ("mcp-param-region".to_owned(), "eu".to_owned());
    assert!(call.headers.contains(&region), "{:?}", call.headers);
}

#[tokio::test(start_paused = true)]
async fn a_cursor_that_is_not_known_any_more_begins_the_list_anew_from_the_server() {
    let server = Server::new(|asked| match (cursor(asked), asked.before) {
        (None, 0) => Said::Result(page(asked, Some("old"), 600)),
        (None, _) => Said::Result(page(asked, Some("new"), 600)),
        (Some("old"), 1) => Said::Result(page(asked, None, 60)),
        (Some("new"), _) => Said::Result(page(asked, None, 600)),
        _ => Said::Error(-32602),
    });
    let client = server.client();
    names(&client).await;
    sleep(secs(100)).await;

    let tools = names(&client).await;

    assert_eq!(tools, ["tool-3", "tool-4"]);
    let asked = [None, Some("old"), Some("old"), None, Some("new")];
    assert_eq!(cursors(&server), asked.map(text));
}

/// An old page that leads to a new one that leads back is not an endless list.
#[tokio::test(start_paused = true)]
async fn pages_of_two_times_that_lead_in_a_circle_are_asked_for_anew() {
    let server = pages(|asked, cursor| match (cursor, asked.before) {
        (None, 0) => page(asked, Some("b"), 600),
        (Some("b"), 1) => page(asked, None, 60),
        (Some("b"), 2) => page(asked, Some("b"), 600),
        (None, _) => page(asked, None, 600),
        other => unreachable!("{other:?}"),
    });
    let client = server.client();
    names(&client).await;
    sleep(secs(100)).await;

    assert_eq!(names(&client).await, ["tool-3"]);
}

#[tokio::test(start_paused = true)]
async fn word_of_a_change_clears_every_page() {
    let server = Server::new(|asked| match asked.method.as_str() {
        "tools/call" => {
            let changed = notification("notifications/tools/list_changed", &json!({}));
            Said::Events(vec![changed], result(asked))
        }
        _ => Said::Result(page(asked, cursor(asked).is_none().then_some("2"), 600)),
    });
    let client = server.client();
    names(&client).await;

    client.call_tool("change", ()).await.unwrap();
    names(&client).await;

    assert_eq!(server.count("tools/list"), 4);
}

fn pages(says: impl Fn(&Asked, Option<&str>) -> Value + Send + Sync + 'static) -> Server {
    Server::new(move |asked| match asked.method.as_str() {
        "tools/list" => Said::Result(says(asked, cursor(asked))),
        _ => Said::Result(minute(asked)),
    })
}

fn page(asked: &Asked, next: Option<&str>, secs: u64) -> Value {
    let mut page = kept(result(asked), secs * 1000, "private");
    if let Some(next) = next {
        page["nextCursor"] = json!(next);
    }
    page
}

fn cursor(asked: &Asked) -> Option<&str> {
    asked.params["cursor"].as_str()
}

fn cursors(server: &Server) -> Vec<Option<String>> {
    server.asked("tools/list").iter().map(|asked| text(cursor(asked))).collect()
}

fn text(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

async fn names(client: &Client) -> Vec<String> {
    client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect()
}
