//! Answers in event streams: whole, in pieces, resumable, with questions and progress before the answer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ridethrough::model::{Elicited, Root, SamplingResult};
use ridethrough::{ClientBuilder, Era, Json};
use ridethrough_lab::{Ask, Mcp, Sse, Style, Times, When};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::torture::exchange::Play::Told;
use crate::torture::exchange::{BOTH, Exchange, RESUMABLE, served};
use crate::torture::stage::{Nature, text_of, tool};

pub(super) const EXCHANGES: &[Exchange] = &[
    served("sse", |mcp| mcp.answers(Style::Sse)),
    served("sse-apart", |mcp| mcp.answers(Style::SseApart)),
    Exchange {
        name: "sse-resumable",
        serve: |mcp| mcp.answers(Style::SseWithIds),
        play: BOTH,
        deadline: RESUMABLE,
        ..Exchange::PLAIN
    },
    // The server holds its stream open after the answer.
    Exchange {
        name: "sse-held-open",
        serve: |mcp| {
            streams(mcp, |ask, mut sse| async move {
                sse.answer(None, ask.result).await;
                sse.gone().await;
            });
        },
        play: BOTH,
        ..Exchange::PLAIN
    },
    served("sse-comments", |mcp| {
        streams(mcp, |ask, mut sse| async move {
            for _ in 0..3 {
                sse.comment("still there").await;
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
            sse.answer_and_finish(ask.result).await;
        });
    }),
    served("sse-log", |mcp| {
        streams(mcp, |ask, mut sse| async move {
            let params = json!({ "level": "info", "data": "half way" });
            let log =
                json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
            sse.message(None, &log).await;
            sse.answer_and_finish(ask.result).await;
        });
    }),
    Exchange {
        name: "progress",
        serve: |mcp| {
            streams(mcp, |ask, mut sse| async move {
                for step in 1..=3 {
                    let params =
                        json!({ "progressToken": ask.token, "progress": step, "total": 3 });
                    let told = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
                    sse.message(None, &told).await;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                sse.answer_and_finish(ask.result).await;
            });
        },
        play: Told(|stage| {
            Box::pin(async {
                let call =
                    stage.client.request("tools/call", tool("deploy", "a")).on_progress(|_| {});
                stage.until("deploy a", Nature::deploy("a"), call).await;
                stage.read("b").await;
            })
        }),
        ..Exchange::PLAIN
    },
    // A server that wants to be polled: an event id, `retry:`, and the end (SEP-1699).
    Exchange { name: "polling", serve: polls, play: BOTH, deadline: RESUMABLE, ..Exchange::PLAIN },
    answered("elicitation", |mcp| {
        let schema = json!({ "type": "object", "properties": {} });
        asks(mcp, "elicitation/create", json!({ "message": "sure?", "requestedSchema": schema }));
    }),
    answered("sampling", |mcp| {
        let content = json!({ "type": "text", "text": "2+2?" });
        let messages = json!([{ "role": "user", "content": content }]);
        asks(mcp, "sampling/createMessage", json!({ "messages": messages, "maxTokens": 5 }));
    }),
    answered("roots", |mcp| asks(mcp, "roots/list", json!({}))),
];

/// A script on a server that asks the client something in the middle of a call.
const fn answered(name: &'static str, serve: fn(&Mcp)) -> Exchange {
    Exchange { dress: answering, ..served(name, serve) }
}

/// What a handler needs of a call once its stream is open.
struct Asked {
    result: Value,
    token: Value,
}

/// Makes the server run every tool and answer in a stream by this function.
fn streams<Answering>(mcp: &Mcp, answer: fn(Asked, Sse) -> Answering)
where
    Answering: Future<Output = ()> + Send + 'static,
{
    mcp.rule(When::method("tools/call"), Times::Always, move |ask| async move {
        ask.run();
        let asked = asked(&ask);
        answer(asked, ask.sse().await).await;
    });
}

fn asked(ask: &Ask) -> Asked {
    let token = ask.params()["_meta"]["progressToken"].clone();
    Asked { result: text_of(&ask.arguments()), token }
}

/// Makes the server run every tool, ask the client something in its stream, and answer when the client has.
fn asks(mcp: &Mcp, method: &'static str, params: Value) {
    let (answered, heard) = watch::channel(Vec::<Value>::new());
    let questions = Arc::new(AtomicU64::new(0));
    mcp.rule(When::response(), Times::Always, move |ask| {
        answered.send_modify(|all| all.push(ask.id()));
        ask.pass()
    });
    mcp.rule(When::method("tools/call"), Times::Always, move |ask| {
        let id = json!(format!("question-{}", questions.fetch_add(1, Ordering::Relaxed)));
        let (mut heard, params) = (heard.clone(), params.clone());
        async move {
            ask.run();
            let Asked { result, .. } = asked(&ask);
            let mut sse = ask.sse().await;
            let question =
                json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            sse.message(None, &question).await;
            tokio::select! {
                biased;
                () = sse.gone() => return,
                _ = heard.wait_for(|all| all.contains(&id)) => {}
            }
            sse.answer_and_finish(result).await;
        }
    });
}

fn answering(builder: ClientBuilder) -> ClientBuilder {
    builder
        .eras(Era::Legacy)
        .on_form(|_| async { Elicited::Accepted(Json::empty_object()) })
        .on_sampling(|_| async { Ok(SamplingResult::text("model", "4")) })
        .roots([Root::new("file:///project")])
}

/// Makes the server run every tool, send an event id and end the stream; the second resume brings the answer.
fn polls(mcp: &Mcp) {
    let answers = Arc::new(Mutex::new(BTreeMap::<String, (u32, Value)>::new()));
    let known = answers.clone();
    mcp.rule(When::method("tools/call"), Times::Always, move |ask| {
        let Asked { result, .. } = asked(&ask);
        let answer = json!({ "jsonrpc": "2.0", "id": ask.id(), "result": result });
        let id = {
            let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
            let id = format!("poll-{}", answers.len());
            answers.insert(id.clone(), (0, answer));
            id
        };
        async move {
            ask.run();
            let mut sse = ask.sse().await;
            sse.prime(&id).await;
            sse.retry(POLL).await;
            sse.finish().await;
        }
    });
    mcp.rule(When::resume(), Times::Always, move |ask| {
        let polled = ask.entry.last_event_id.clone().and_then(|id| {
            let mut answers = known.lock().unwrap_or_else(PoisonError::into_inner);
            let (polls, answer) = answers.get_mut(&id)?;
            *polls += 1;
            Some((*polls, answer.clone()))
        });
        async move {
            let Some((polls, answer)) = polled else { return ask.pass().await };
            let mut sse = ask.sse().await;
            match polls {
                1 => sse.retry(POLL).await,
                _ => sse.message(Some("poll-answer"), &answer).await,
            };
            sse.finish().await;
        }
    });
}

const POLL: Duration = Duration::from_millis(500);
