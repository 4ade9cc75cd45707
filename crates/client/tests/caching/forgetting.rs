//! What makes a client forget: the notification of a change, other credentials, another identity.

use std::sync::{Arc, Mutex};

use ridethrough::server::{Eras, Identity};
use ridethrough::{Client, Json};
use serde_json::{Value, json};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::rig::{Said, Server, Tokens, kept, minute, notification, result, secs};

#[tokio::test(start_paused = true)]
async fn word_of_a_change_on_any_stream_clears_what_it_is_about_and_nothing_else() {
    for (method, params, forgotten) in [
        ("notifications/tools/list_changed", json!({}), vec!["tools/list"]),
        ("notifications/prompts/list_changed", json!({}), vec!["prompts/list"]),
        (
            "notifications/resources/list_changed",
            json!({}),
            vec!["resources/list", "resources/templates/list"],
        ),
        ("notifications/resources/updated", json!({"uri": "a:b"}), vec!["resources/read"]),
        ("notifications/resources/updated", json!({"uri": "c:d"}), vec![]),
        ("notifications/message", json!({"level": "info", "data": 1}), vec![]),
    ] {
        let server = Server::new(move |asked| match asked.method.as_str() {
            "tools/call" => Said::Events(vec![notification(method, &params)], result(asked)),
            _ => Said::Result(minute(asked)),
        });
        let client = server.client();
        ask_all(&client).await;

        client.call_tool("change", ()).await.unwrap();
        ask_all(&client).await;

        let asked_again: Vec<_> = ALL.into_iter().filter(|it| server.count(it) == 2).collect();
        assert_eq!(asked_again, forgotten, "{method}");
    }
}

/// The client cannot know whether the result is from before or after the change.
#[tokio::test(start_paused = true)]
async fn a_result_that_was_on_its_way_when_word_of_a_change_came_is_not_kept() {
    let server = Server::new(|asked| {
        let changed = notification("notifications/tools/list_changed", &json!({}));
        Said::Events(vec![changed], minute(asked))
    });
    let client = server.client();

    client.tools().await.unwrap();
    client.tools().await.unwrap();

    assert_eq!(server.count("tools/list"), 2);
}

#[tokio::test(start_paused = true)]
async fn private_results_go_with_the_token_they_were_asked_with_and_public_ones_stay() {
    let server = Server::new(|asked| match (asked.method.as_str(), asked.token.as_deref()) {
        ("tools/call", Some("Bearer one")) => Said::Status(401),
        ("resources/list", _) => Said::Result(kept(result(asked), 60_000, "public")),
        _ => Said::Result(minute(asked)),
    });
    let client = server.builder().credentials(Tokens::new(&["one", "two"])).build().unwrap();
    for _ in 0..2 {
        client.tools().await.unwrap();
        client.resources().await.unwrap();
    }
    assert_eq!(server.count("tools/list"), 1, "the first token is no change");

    client.call_tool("echo", ()).await.unwrap();
    client.tools().await.unwrap();
    client.resources().await.unwrap();

    let tokens = |method| server.asked(method).into_iter().map(|asked| asked.token.unwrap());
    assert_eq!(tokens("tools/list").collect::<Vec<_>>(), ["Bearer one", "Bearer two"]);
    assert_eq!(tokens("resources/list").collect::<Vec<_>>(), ["Bearer one"]);
}

#[tokio::test(start_paused = true)]
async fn the_same_token_again_is_no_change() {
    let server = Server::new(|asked| match (asked.method.as_str(), asked.before) {
        ("tools/call", 0) => Said::Status(401),
        _ => Said::Result(minute(asked)),
    });
    let client = server.builder().credentials(Tokens::new(&["one", "one"])).build().unwrap();
    client.tools().await.unwrap();

    client.call_tool("echo", ()).await.unwrap();
    client.tools().await.unwrap();

    assert_eq!((server.count("tools/call"), server.count("tools/list")), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn another_identity_may_see_other_lists() {
    let server = Server::keeps_a_minute();
    let client = server.client();
    client.tools().await.unwrap();

    client.set_identity(Identity {
        info: Json::new(r#"{"name":"other","version":"1"}"#).unwrap(),
        capabilities: Json::new(r#"{"sampling":{}}"#).unwrap(),
    });
    client.tools().await.unwrap();

    assert_eq!(server.count("tools/list"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_rolled_back_to_sessions_takes_all_that_was_kept_along() {
    let server = Server::new(|asked| {
        let is_modern =
            asked.params["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string();
        match asked.method.as_str() {
            // The rollback.
            "server/discover" if asked.before > 0 => Said::Status(400),
            "tools/call" if is_modern => Said::Status(400),
            _ => Said::Result(minute(asked)),
        }
    });
    let client = server.builder().eras(Eras::Either).build().unwrap();
    client.tools().await.unwrap();
    client.tools().await.unwrap();
    assert_eq!(server.count("tools/list"), 1);

    client.call_tool("echo", ()).await.unwrap();
    assert_eq!(server.count("initialize"), 1);
    client.tools().await.unwrap();

    assert_eq!(server.count("tools/list"), 2);
}

/// A host that is notified of a change and asks at once must not get the old result.
#[tokio::test(start_paused = true)]
async fn whoever_hears_of_a_change_and_asks_is_given_the_new() {
    let server = Server::new(|asked| match asked.method.as_str() {
        "tools/call" => {
            let changed = notification("notifications/tools/list_changed", &Value::Null);
            Said::Events(vec![changed], result(asked))
        }
        "subscriptions/listen" => Said::Error(-32601),
        _ => Said::Result(minute(asked)),
    });
    let client = server.client();
    let mut notifications = client.notifications();
    client.tools().await.unwrap();

    let calling = client.call_tool("change", ()).into_future();
    notifications.next().await.unwrap();
    let tools = client.tools().await.unwrap();

    assert_eq!(tools[0].name, "tool-1");
    calling.await.unwrap();
}

/// The link lists them by itself when the server refuses what the link knows of a tool.
#[tokio::test(start_paused = true)]
async fn tools_that_the_link_found_changed_are_asked_for_anew() {
    let server = Server::new(|asked| match (asked.method.as_str(), asked.before) {
        ("tools/call", 0) => Said::Error(-32020),
        _ => Said::Result(minute(asked)),
    });
    let client = server.client();
    client.tools().await.unwrap();

    client.call_tool("echo", ()).await.unwrap();
    assert_eq!(server.count("tools/list"), 2, "the link's own");
    let tools = client.tools().await.unwrap();

    assert_eq!(tools[0].name, "tool-2");
}

#[tokio::test(start_paused = true)]
async fn word_of_a_change_on_the_standing_stream_clears_what_it_is_about() {
    let (server, standing) = listens();
    let client = server.client();
    let mut notifications = client.notifications();
    ask_all(&client).await;

    standing.tell(notification("notifications/tools/list_changed", &json!({})));
    notifications.next().await.unwrap();
    ask_all(&client).await;

    assert_eq!(ALL.map(|method| server.count(method)), [1, 1, 1, 1, 2]);
}

/// A notification may have been sent meanwhile: of the lists, which the client listens to, but not of a
/// resource that it has not subscribed to.
#[tokio::test(start_paused = true)]
async fn what_may_have_been_missed_on_the_standing_stream_is_asked_for_when_it_is_back() {
    let (server, standing) = listens();
    let client = server.client();
    client.keep_connected();
    ask_all(&client).await;

    standing.interrupt();
    ask_all(&client).await;
    assert_eq!(ALL.map(|method| server.count(method)), [1; 5], "what is kept is the best there is");
    tokio::time::sleep(secs(30)).await;
    assert_eq!(server.count("subscriptions/listen"), 2);
    ask_all(&client).await;

    assert_eq!(ALL.map(|method| server.count(method)), [2, 2, 1, 2, 2]);
}

const ALL: [&str; 5] =
    ["prompts/list", "resources/list", "resources/read", "resources/templates/list", "tools/list"];

async fn ask_all(client: &Client) {
    client.prompts().await.unwrap();
    client.resources().await.unwrap();
    client.read_resource("a:b").await.unwrap();
    client.resource_templates().await.unwrap();
    client.tools().await.unwrap();
}

/// The standing stream, if there is one.
#[derive(Clone, Default)]
struct Standing(Arc<Mutex<Option<UnboundedSender<Value>>>>);

impl Standing {
    fn open(&self) -> Said {
        let (sender, receiver) = unbounded_channel();
        let lists = json!({
            "promptsListChanged": true, "resourcesListChanged": true, "toolsListChanged": true
        });
        let granted = json!({ "notifications": lists });
        let method = "notifications/subscriptions/acknowledged";
        sender.send(notification(method, &granted)).unwrap();
        *self.0.lock().unwrap() = Some(sender);
        Said::Stream(receiver)
    }

    fn tell(&self, message: Value) {
        self.0.lock().unwrap().as_ref().expect("nobody listens").send(message).unwrap();
    }

    fn interrupt(&self) {
        assert!(self.0.lock().unwrap().take().is_some(), "nobody listens");
    }
}

/// Returns a server that notifies of changes, and allows the client to keep its results for ten minutes.
fn listens() -> (Server, Standing) {
    let standing = Standing::default();
    let stream = standing.clone();
    let server = Server::new(move |asked| match asked.method.as_str() {
        "subscriptions/listen" => stream.open(),
        _ => Said::Result(kept(result(asked), 600_000, "private")),
    });
    (server, standing)
}
