//! What a host of an SDK does with a server of an SDK through our gateway, one feature at a time.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::behind::Behind;
use super::{HostRevision, ServerKind};
use crate::host::Host;
use crate::partner::{ROOT, Verdict, expect};
use crate::proxy::{Order, Proxy};
use crate::surface::Surface;

/// One feature of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feature {
    Call,
    Cancel,
    Form,
    List,
    ListChange,
    Log,
    Progress,
    Resume,
    Roots,
    Sampling,
    Subscription,
    Task,
    Url,
}

/// How a feature ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happened {
    AsWanted,
    /// What is documented in place of it.
    Instead,
}

/// All features, in the order of the table.
pub(super) const FEATURES: [(Feature, &str); 13] = [
    (Feature::List, "list"),
    (Feature::Call, "call"),
    (Feature::Progress, "progress"),
    (Feature::Log, "log"),
    (Feature::Form, "form"),
    (Feature::Url, "URL"),
    (Feature::Sampling, "sampling"),
    (Feature::Roots, "roots"),
    (Feature::Cancel, "cancel"),
    (Feature::Subscription, "subscription"),
    (Feature::ListChange, "list change"),
    (Feature::Resume, "resume after a cut"),
    (Feature::Task, "task"),
];

impl Feature {
    pub(super) fn name(self) -> &'static str {
        FEATURES.iter().find(|(it, _)| *it == self).map_or("", |(_, name)| name)
    }

    pub(super) async fn run(
        self,
        behind: &Behind,
        revision: HostRevision,
        host: &mut Host,
    ) -> Verdict<Happened> {
        let key = &format!("{}-{}-{}", revision.revision(), behind.kind.name(), self.name());
        let done = match self {
            Self::Call => call(behind, host, key).await,
            Self::Cancel => cancel(behind, host, key).await,
            Self::Form => host.fills_in_a_form(OURS).await,
            Self::List => list(behind, host).await,
            Self::ListChange => list_change(host).await,
            Self::Log => log(host).await,
            Self::Progress => host.hears_progress(OURS, key).await,
            Self::Resume => return resume(behind, host, key).await,
            Self::Roots => host.calls(OURS.ask_roots(ROOT)).await.map(drop),
            Self::Sampling => host.samples(OURS).await,
            Self::Subscription => subscription(host).await,
            Self::Task => task(behind, host, key).await,
            Self::Url => return url(revision, host).await,
        };
        done.map(|()| Happened::AsWanted)
    }
}

async fn list(behind: &Behind, host: &mut Host) -> Verdict {
    host.finds_all(OURS).await?;
    speaks(behind)
}

/// Checks that the gateway and the server speak the revision that this pair is about, and no other.
fn speaks(behind: &Behind) -> Verdict {
    let revision = match behind.kind {
        ServerKind::June2025 | ServerKind::November2025 | ServerKind::Stateless => {
            behind.kind.name()
        }
        // Neither has a header for it.
        ServerKind::HttpSse | ServerKind::Stdio => return Ok(()),
    };
    let heads = behind.proxy.as_ref().map(Proxy::heads).unwrap_or_default();
    let said =
        |it: &String| Some(it.split("mcp-protocol-version:").nth(1)?.trim().get(..10)?.to_owned());
    let mut spoken: Vec<_> = heads.iter().filter_map(said).collect();
    spoken.sort();
    spoken.dedup();
    // A server of unknown era may be asked for the newest first.
    spoken
        .retain(|it| it == revision || behind.kind != ServerKind::Stateless && it != "2026-07-28");
    expect(spoken == [revision], || format!("spoken are {spoken:?}"))
}

async fn call(behind: &Behind, host: &mut Host, key: &str) -> Verdict {
    host.calls(OURS.count(key, 0)).await?;
    let error = host.calls(OURS.fail()).await;

    let ran = behind.noted("ran", key);
    expect(ran == 1, || format!("it ran {ran} times"))?;
    // The host sees the failure of a tool as the tool's own.
    expect(error.is_err_and(|it| it.contains("this tool always fails")), || "no failure".to_owned())
}

async fn log(host: &mut Host) -> Verdict {
    host.does(json!({ "do": "level", "level": "warning" })).await?;
    host.hears_logs(OURS).await
}

/// A host whose revision has no such question is not asked, and the server hears that.
async fn url(revision: HostRevision, host: &mut Host) -> Verdict<Happened> {
    let call = host.begin_call(&OURS.ask_url()).await?;
    match (revision, host.answer(call).await) {
        (HostRevision::June2025, Err(why)) if why.contains("the host has an error") => {
            Ok(Happened::Instead)
        }
        (_, Ok(result)) if result["text"] == "accept" => Ok(Happened::AsWanted),
        (_, answer) => Err(format!("{answer:?}")),
    }
}

async fn cancel(behind: &Behind, host: &mut Host, key: &str) -> Verdict {
    let call = host.begin_call(&OURS.wait(key)).await?;
    behind.notes("began", key).await?;
    host.does(json!({ "do": "cancel", "of": call })).await?;

    behind.notes("cancelled", key).await?;
    host.error(call).await?;
    host.calls(OURS.echo("after")).await.map(drop)
}

async fn subscription(host: &mut Host) -> Verdict {
    let (resource, _) = OURS.listed();

    host.does(json!({ "do": "subscribe", "uri": resource })).await?;
    // A notification before the gateway listens is lost.
    let began = Instant::now();
    while host.told("notifications/resources/updated").is_empty() {
        expect(began.elapsed() < Duration::from_secs(10), || "nothing was told".to_owned())?;
        host.calls(OURS.touch()).await?;
        sleep(Duration::from_millis(100)).await;
    }
    let told = host.hears("notifications/resources/updated").await?;
    expect(told["uri"] == resource, || format!("told {told}"))
}

/// A call becomes a task, which the host follows to its result under one id.
async fn task(behind: &Behind, host: &mut Host, key: &str) -> Verdict {
    let tool = OURS.later(key, 300, false);
    let deed = json!({ "do": "task", "tool": tool.tool, "arguments": tool.arguments });
    let seen = host.does(deed).await?;

    expect(seen["text"] == key, || format!("the task ended with {seen}"))?;
    let ids = seen["ids"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_one = !ids.is_empty() && ids.iter().all(|it| it == &ids[0]);
    expect(is_one, || format!("the task had the ids {ids:?}"))?;
    let ran = behind.noted("ran", key);
    expect(ran == 1, || format!("it ran {ran} times"))
}

/// The server adds a tool. A host that hears of it finds the tool in the list.
async fn list_change(host: &mut Host) -> Verdict {
    let before = host.does(json!({ "do": "list", "what": "tools" })).await?;
    // A notification before the gateway listens is lost.
    let began = Instant::now();
    while host.told("notifications/tools/list_changed").is_empty() {
        expect(began.elapsed() < Duration::from_secs(10), || "nothing was told".to_owned())?;
        host.calls(OURS.change().0).await?;
        sleep(Duration::from_millis(200)).await;
    }
    let after = host.does(json!({ "do": "list", "what": "tools" })).await?;

    let count = |list: &Value| list.as_array().map(Vec::len).unwrap_or_default();
    expect(count(&after) > count(&before), || format!("the list is still {after}"))
}

/// Cuts the connection between gateway and server while a call streams.
async fn resume(behind: &Behind, host: &mut Host, key: &str) -> Verdict<Happened> {
    let Some(proxy) = &behind.proxy else { return Err("there is no connection".to_owned()) };
    let before = proxy.done();
    proxy.order(match behind.kind {
        // Its streams have no ids.
        ServerKind::Stateless => Order::CutOff { request: r#""slow""#, events: 1 },
        _ => Order::Cut { request: r#""slow""#, events: 2 },
    });

    let call = host.begin_call(&OURS.slow(key, 4, 150)).await?;
    let answer = host.answer(call).await;

    expect(proxy.done() == before + 1, || "nothing was cut".to_owned())?;
    let ran = behind.noted("ran", key);
    expect(ran == 1, || format!("it ran {ran} times"))?;
    match answer {
        // What may have run is told by a result.
        Ok(result) if result["isError"] == true => {
            let told = result["text"].as_str().unwrap_or_default();
            expect(told.contains("may have run"), || format!("answered {result}"))?;
            Ok(Happened::Instead)
        }
        Ok(result) => {
            expect(result["text"] == key, || format!("answered {result}"))?;
            Ok(Happened::AsWanted)
        }
        Err(why) => {
            expect(why.contains(r#""mayHaveRun":true"#), || why.clone())?;
            Ok(Happened::Instead)
        }
    }
}

const OURS: Surface = Surface::Ours;
