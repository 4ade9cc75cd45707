//! Schemas that are made to keep a reader busy: time limits and signals still work.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};
use tokio::time::{sleep, timeout};

use crate::rig::{Ran, Rig};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_with_ten_thousands_of_references_are_listed_in_time() {
    for count in [20_000, 80_000] {
        for schema in [spread(count), chained(count)] {
            let rig = rig(schema).await;

            let ran = within_a_minute(&rig, &["tools", "SERVER"]).await;

            assert_eq!(ran.code, Some(0), "{count}: {}", ran.err);
            assert!(ran.out.starts_with("heavy"), "{count}: {:.200}", ran.out);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_with_ten_thousands_of_references_is_called_in_time() {
    for count in [20_000, 80_000] {
        for schema in [spread(count), chained(count), doubling(count)] {
            let rig = rig(schema).await;

            let ran = within_a_minute(&rig, &["call", "SERVER", "heavy", "p0=a"]).await;

            assert_eq!(ran.code, Some(0), "{count}: {}", ran.err);
            assert_eq!(rig.mcp.runs()[0].arguments, json!({"p0": "a"}));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_limit_holds_whatever_the_schema() {
    let rig = rig(spread(80_000)).await;

    for words in [&["tools", "SERVER"][..], &["call", "SERVER", "heavy", "p0=a"]] {
        let words: Vec<_> = words.iter().copied().chain(["--timeout", "3"]).collect();
        let began = Instant::now();

        let ran = within_a_minute(&rig, &words).await;

        assert!([Some(0), Some(7)].contains(&ran.code), "{}", ran.err);
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_is_heard_whatever_the_schema() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        for words in [&["tools", "SERVER"][..], &["call", "SERVER", "heavy", "p0=a"]] {
            let rig = rig(spread(80_000)).await;
            let mut command = rig.command(words);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let pid = Pid::from_raw(child.id().unwrap().try_into().unwrap()).unwrap();
            sleep(Duration::from_secs(2)).await;

            // The process may have ended by now, which is as good.
            let _ = kill_process(pid, signal);

            let ended = timeout(Duration::from_secs(10), child.wait()).await;
            let ended = ended.unwrap_or_else(|_| panic!("deaf to {signal:?}")).unwrap();
            assert!([Some(code), Some(0)].contains(&ended.code()), "{ended:?}");
        }
    }
}

async fn rig(schema: Value) -> Rig {
    let rig = Rig::new().await;
    rig.mcp.tools(json!([{"name": "heavy", "inputSchema": schema}]));
    rig.answer("heavy", json!({"content": [{"type": "text", "text": "done"}]}));
    rig
}

async fn within_a_minute(rig: &Rig, words: &[&str]) -> Ran {
    let mut command = rig.command(words);
    let output = timeout(Duration::from_secs(60), command.output()).await;
    output.expect("it ends by itself").unwrap().into()
}

/// Returns a schema with so many properties, each of which is a reference.
fn spread(count: usize) -> Value {
    let properties = (0..count).map(|it| (format!("p{it}"), json!({"$ref": "#/$defs/text"})));
    json!({"type": "object", "properties": properties.collect::<Map<_, _>>(),
           "$defs": {"text": {"type": "string"}}})
}

/// Returns a schema in which each reference leads to another reference.
fn chained(count: usize) -> Value {
    let link = |it| (format!("d{it}"), json!({"$ref": format!("#/$defs/d{}", it + 1)}));
    let mut definitions: Map<_, _> = (0..count).map(link).collect();
    definitions.insert(format!("d{count}"), json!({"type": "string"}));
    json!({"type": "object", "properties": {"p0": {"$ref": "#/$defs/d0"}}, "$defs": definitions})
}

/// Returns a schema in which each definition is twice the next one: two to the power of `count` in all.
fn doubling(count: usize) -> Value {
    let twice = |it| {
        let next: Value = json!({"$ref": format!("#/$defs/d{}", it + 1)});
        (format!("d{it}"), json!({"anyOf": [next, next]}))
    };
    let mut definitions: Map<_, _> = (0..count).map(twice).collect();
    definitions.insert(format!("d{count}"), json!({"type": "string"}));
    json!({"type": "object", "properties": {"p0": {"$ref": "#/$defs/d0"}}, "$defs": definitions})
}
