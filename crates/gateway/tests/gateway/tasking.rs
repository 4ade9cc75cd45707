//! Tasks through the gateway: each leads back to its server, and only for the principal that began it.

use std::sync::Arc;

use ridethrough::event::Delivered;
use ridethrough::model::{Elicited, TaskStatus};
use ridethrough::task::{Begun, Task};
use ridethrough::{Client, ClientBuilder, Era, Error, Json};
use ridethrough_gateway::{GatewaySettings, ServerSettings, Share};
use ridethrough_server::SealKey;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::rig::{Behind, ERAS, Rig, WayState, call, names, rig_of, secs};
use crate::small_tasks::{ASKING, RELATED};

#[tokio::test(start_paused = true)]
async fn a_call_becomes_a_task_and_is_followed_to_its_result_in_either_era() {
    for era in ERAS {
        let a = with_tasks("a", era);
        let rig = rig_for(&[&a], era);
        for (path, tool) in [("/mcp", "a_work"), ("/mcp/a", "work")] {
            let client = follower(rig.builder(era, path));
            names(&client).await;

            let task = begun(&client, tool, 5).await;
            let status = task.status().await.unwrap().status;
            finish_newest(&a);
            let result = task.result().await.unwrap().text();

            assert_eq!(status, TaskStatus::Working, "{era:?} {path}");
            assert_eq!(result, r#"a {"n":5}"#, "{era:?} {path}");
        }
    }
}

/// Both servers call their first task `1`.
#[tokio::test(start_paused = true)]
async fn one_id_of_two_servers_leads_to_each_of_them() {
    for era in ERAS {
        let (a, b) = (with_tasks("a", era), with_tasks("b", era));
        let rig = rig_for(&[&a, &b], era);
        let client = follower(rig.builder(era, "/mcp"));
        names(&client).await;

        let (one, other) = (begun(&client, "a_work", 1).await, begun(&client, "b_work", 2).await);
        a.server.finish_task("1");

        assert_ne!(one.id().as_str(), other.id().as_str());
        assert_eq!(one.result().await.unwrap().text(), r#"a {"n":1}"#);
        assert_eq!(other.status().await.unwrap().status, TaskStatus::Working, "{era:?}");
        other.cancel().await.unwrap();
        assert_eq!(other.status().await.unwrap().status, TaskStatus::Cancelled, "{era:?}");
        assert_eq!(one.status().await.unwrap().status, TaskStatus::Completed, "{era:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_of_another_principal_does_not_exist_and_its_server_is_not_asked() {
    for era in ERAS {
        let mut a = with_tasks("a", era);
        a.settings.share = Share::All;
        let rig = rig_for(&[&a], era);
        let (ada, bob) = (follower(rig.builder(era, "/mcp")), rig.bob(era));
        names(&ada).await;
        names(&bob).await;
        let task = begun(&ada, "a_work", 1).await;
        let (id, raw) = (task.id().as_str().to_owned(), "1".to_owned());

        for id in [id, raw] {
            for method in METHODS.iter().filter(|it| exists(it, era)) {
                let error = bob.request(*method, json!({"taskId": id})).await.unwrap_err();
                let Error::Server(error) = error else { panic!("{error}") };

                assert_eq!(error.rpc.code, -32602, "{era:?} {method}");
                assert!(error.rpc.message.contains("no task"), "{era:?} {method}");
                assert!(!error.rpc.message.contains(&id) || id == "1", "{era:?} {method}");
                assert_eq!(a.server.heard(method).len(), 0, "{era:?} {method}");
            }
        }
        assert_eq!(task.status().await.unwrap().status, TaskStatus::Working);
    }
}

/// The server has one list for the one client that it knows, which is the gateway.
#[tokio::test(start_paused = true)]
async fn a_list_has_the_tasks_of_its_principal_and_of_no_other() {
    let (mut a, mut b) = (with_tasks("a", Era::Legacy), with_tasks("b", Era::Legacy));
    (a.settings.share, b.settings.share) = (Share::All, Share::All);
    let rig = rig_of(&[&a, &b]);
    let ada = follower(rig.builder(Era::Legacy, "/mcp"));
    let bob = rig.bob(Era::Legacy);
    names(&ada).await;
    names(&bob).await;
    let (one, other) = (begun(&ada, "a_work", 1).await, begun(&ada, "b_work", 2).await);
    let of_bob = bob.request("tools/call", json!({"name": "a_work", "task": {}})).await.unwrap();
    let of_bob = of_bob.member("task").unwrap().member("taskId").unwrap();

    let listed: Vec<_> = ada.tasks().await.unwrap().into_iter().map(|it| it.id).collect();
    assert_eq!(listed, [one.id().clone(), other.id().clone()]);
    let listed: Value = bob.request("tasks/list", ()).await.unwrap().read().unwrap();
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(listed["tasks"][0]["taskId"].as_str(), of_bob.string().as_deref());

    b.way.set(WayState::Hangs);
    b.way.cut();
    let listed: Value = ada.request("tasks/list", ()).await.unwrap().read().unwrap();
    assert_eq!(listed["tasks"][1]["taskId"].as_str(), Some(other.id().as_str()));
    assert_eq!(listed["tasks"][1]["_meta"], json!({"ridethrough/lastKnown": true}));
    assert!(listed["tasks"][0].get("_meta").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_long_list_of_tasks_has_pages() {
    let a = with_tasks("a", Era::Legacy);
    let rig = rig_of(&[&a]);
    let client = follower(rig.builder(Era::Legacy, "/mcp"));
    names(&client).await;
    for number in 0..45 {
        begun(&client, "a_work", number).await;
    }

    let listed = client.tasks().await.unwrap();

    let distinct: std::collections::BTreeSet<_> = listed.iter().map(|it| &it.id).collect();
    assert_eq!((listed.len(), distinct.len()), (45, 45));
    let bad = client.request("tasks/list", json!({"cursor": "x"})).await.unwrap_err();
    assert!(bad.to_string().contains("cursor"), "{bad}");
}

#[tokio::test(start_paused = true)]
async fn news_of_a_task_goes_to_whom_it_is_of_under_its_own_id() {
    let mut a = with_tasks("a", Era::Legacy);
    a.settings.share = Share::All;
    let rig = rig_of(&[&a]);
    let (ada, bob) = (follower(rig.builder(Era::Legacy, "/mcp")), rig.bob(Era::Legacy));
    let (mut of_ada, mut of_bob) = (ada.inbox(), bob.inbox());
    names(&ada).await;
    call(&bob, "a_work").await;
    let task = begun(&ada, "a_work", 1).await;
    ada.keep_connected();
    bob.keep_connected();
    sleep(secs(2)).await;

    for id in ["1", "2"] {
        a.server.tell(STATUS, json!({"taskId": id, "status": "completed"}));
    }

    let told = json!({"taskId": task.id(), "status": "completed"});
    assert_eq!(next(&mut of_ada).await, (STATUS.to_owned(), told));
    assert!(tokio::time::timeout(secs(5), of_ada.next()).await.is_err(), "the other is not hers");
    assert!(tokio::time::timeout(secs(5), of_bob.next()).await.is_err(), "no task is his");
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_task_names_it_by_our_id_and_its_answer_by_the_servers() {
    let a = with_tasks("a", Era::Legacy);
    let rig = rig_of(&[&a]);
    let client = rig.builder(Era::Legacy, "/mcp").tasks().on_form(|form| async move {
        let related = form.json.member("_meta").unwrap();
        Elicited::Accepted(Json::from(json!({"related": related.read::<Value>()})))
    });
    let client = client.build().unwrap();
    names(&client).await;
    let mut task = begun(&client, "a_work", 1).await;
    for number in 2..=7 {
        task = begun(&client, "a_work", number).await;
    }

    let params = json!({"taskId": task.id()});
    let said = client.request("tasks/result", params).await.unwrap();

    let said: Value = said.read().unwrap();
    let text = said["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(task.id().as_str()), "{text}");
    assert!(!a.server.heard("elicitation/create").iter().any(|it| it.contains(ASKING)));
}

#[tokio::test(start_paused = true)]
async fn the_result_of_a_task_names_it_by_our_id() {
    let a = with_tasks("a", Era::Legacy);
    let rig = rig_of(&[&a]);
    let client = follower(rig.builder(Era::Legacy, "/mcp"));
    names(&client).await;
    let task = begun(&client, "a_work", 1).await;

    let result = client.request("tasks/result", json!({"taskId": task.id()})).await.unwrap();

    let result: Value = result.read().unwrap();
    assert_eq!(result["_meta"][RELATED]["taskId"], task.id().as_str());
}

#[tokio::test(start_paused = true)]
async fn tasks_are_announced_only_where_a_server_has_them_in_the_era_of_the_caller() {
    let (legacy, modern) = (with_tasks("a", Era::Legacy), with_tasks("b", Era::Modern));
    let plain = Behind::new("c", &["work"]);
    for (servers, era, expected) in [
        (vec![settings(&legacy, Era::Legacy)], Era::Legacy, true),
        (vec![settings(&legacy, Era::Legacy)], Era::Modern, false),
        (vec![settings(&modern, Era::Modern)], Era::Modern, true),
        (vec![settings(&modern, Era::Modern)], Era::Legacy, false),
        (vec![plain.settings.clone()], Era::Legacy, false),
        (vec![plain.settings.clone(), settings(&legacy, Era::Legacy)], Era::Legacy, true),
    ] {
        let rig = Rig::new(servers);

        let server = rig.client(era).connect().await.unwrap();

        let can = server.result.member("capabilities").unwrap();
        let of_extension = can.member("extensions").is_some();
        let is_told = if era == Era::Modern { of_extension } else { can.member("tasks").is_some() };
        assert_eq!(is_told, expected, "{era:?} {}", can.as_str());
    }
}

/// It would run, and the caller would not understand its result.
#[tokio::test(start_paused = true)]
async fn a_call_that_asks_for_a_task_where_there_are_none_is_refused_and_not_sent() {
    let (plain, modern) = (Behind::new("a", &["work"]), with_tasks("b", Era::Modern));
    let rig = Rig::new(vec![plain.settings.clone(), settings(&modern, Era::Modern)]);
    let client = rig.client(Era::Legacy);
    names(&client).await;

    for (tool, server) in [("a_work", &plain), ("b_work", &modern)] {
        let refused = client.request("tools/call", json!({"name": tool, "task": {}})).await;

        let Err(Error::Server(error)) = refused else { panic!("{refused:?}") };
        assert_eq!(error.rpc.code, -32601, "{tool}");
        assert_eq!(server.server.heard("tools/call").len(), 0, "{tool}");
    }
}

/// The eras have tasks of different forms, so a call stays a call.
#[tokio::test(start_paused = true)]
async fn a_caller_of_the_other_era_gets_the_result_of_the_call_itself() {
    for (front, behind) in [(Era::Legacy, Era::Modern), (Era::Modern, Era::Legacy)] {
        let a = with_tasks("a", behind);
        let rig = rig_for(&[&a], behind);
        let client = follower(rig.builder(front, "/mcp"));
        names(&client).await;

        let begun = client.call_tool("a_work", json!({"n": 1})).as_task().await.unwrap();

        let Begun::Answered(result) = begun else { panic!("{front:?} a task") };
        assert_eq!(result.text(), r#"a {"n":1}"#, "{front:?}");
    }
}

/// Another gateway at the address, or the next one after a restart, has seen nothing of the task.
#[tokio::test(start_paused = true)]
async fn another_gateway_with_the_key_knows_the_task_and_one_without_it_does_not() {
    for era in ERAS {
        let a = with_tasks("a", era);
        let with_key = |byte| {
            let mut gateway = GatewaySettings::default();
            gateway.seal_key = Arc::new(SealKey::new(&[byte; SealKey::LENGTH]));
            Rig::with(vec![settings(&a, era)], gateway)
        };
        let (first, second, foreign) = (with_key(1), with_key(1), with_key(2));
        let client = follower(first.builder(era, "/mcp"));
        names(&client).await;
        let task = begun(&client, "a_work", 1).await;

        let next = follower(second.builder(era, "/mcp"));
        let other = follower(foreign.builder(era, "/mcp"));

        let status = next.task(task.id().clone()).status().await.unwrap().status;
        assert_eq!(status, TaskStatus::Working, "{era:?}");
        assert!(other.task(task.id().clone()).status().await.is_err(), "{era:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn input_for_a_task_without_sessions_reaches_its_server() {
    let a = with_tasks("a", Era::Modern);
    let rig = rig_for(&[&a], Era::Modern);
    let client = follower(rig.builder(Era::Modern, "/mcp"));
    names(&client).await;
    let task = begun(&client, "a_work", 1).await;

    task.update([("k", Json::from(json!({"action": "accept"})))]).await.unwrap();
    a.server.finish_task("1");

    let said = task.result().await.unwrap().text();
    assert_eq!(said, r#"a {"n":1} {"k":{"action":"accept"}}"#);
}

/// A caller that does not say that it follows tasks must not be given one, whatever others say.
#[tokio::test(start_paused = true)]
async fn a_caller_that_does_not_follow_tasks_gets_none() {
    let a = with_tasks("a", Era::Modern);
    let rig = rig_for(&[&a], Era::Modern);
    let (follower, plain) = (follower(rig.builder(Era::Modern, "/mcp")), rig.client(Era::Modern));
    names(&follower).await;
    begun(&follower, "a_work", 1).await;

    let said = plain.call_tool("a_work", json!({"n": 2})).await.unwrap().text();

    assert_eq!(said, r#"a {"n":2}"#);
}

fn with_tasks(name: &str, era: Era) -> Behind {
    let behind = Behind::new(name, &["work"]);
    behind.server.with_tasks();
    if era == Era::Modern {
        behind.server.become_stateless();
    }
    behind
}

fn settings(behind: &Behind, era: Era) -> ServerSettings {
    let mut settings = match era {
        Era::Legacy => behind.settings.clone(),
        Era::Modern => behind.stateless(),
    };
    settings.share = behind.settings.share;
    settings
}

fn rig_for(servers: &[&Behind], era: Era) -> Rig {
    Rig::new(servers.iter().map(|it| settings(it, era)).collect())
}

/// A client that follows tasks.
fn follower(builder: ClientBuilder) -> Client {
    builder.tasks().build().unwrap()
}

async fn begun(client: &Client, tool: &str, number: u64) -> Task {
    match client.call_tool(tool, json!({ "n": number })).as_task().await.unwrap() {
        Begun::Task(task) => task,
        Begun::Answered(answered) => panic!("no task: {}", answered.text()),
    }
}

fn finish_newest(behind: &Behind) {
    let begun = behind.server.heard("tools/call").len();
    behind.server.finish_task(&begun.to_string());
}

async fn next(inbox: &mut ridethrough::event::Inbox) -> (String, Value) {
    let next = tokio::time::timeout(secs(5), inbox.next()).await;
    let Ok(Some(Delivered::Notification { method, params, .. })) = next else { panic!("{next:?}") };
    (method.to_string(), params.unwrap().read().unwrap())
}

fn exists(method: &str, era: Era) -> bool {
    match era {
        Era::Legacy => method != "tasks/update",
        Era::Modern => method != "tasks/result",
    }
}

const METHODS: [&str; 4] = ["tasks/get", "tasks/result", "tasks/cancel", "tasks/update"];
const STATUS: &str = "notifications/tasks/status";
