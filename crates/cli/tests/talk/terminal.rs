//! The output on a terminal: colour, progress and waiting, and none of it elsewhere.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::Duration;

use ridethrough_lab::{Times, When};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::rig::Rig;

/// A file once held the words for a control character, and lines without their ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_text_of_an_answer_is_as_it_was_sent_unless_a_terminal_shows_it() {
    let rig = Rig::new().await;
    let text = "a\u{1b}[2Jb\r\nc\u{202e}\n";
    rig.answer("echo", json!({"content": [{"type": "text", "text": text}]}));
    rig.rule(When::method("resources/read"), json!({"contents": [{"uri": "a:b", "text": text}]}));

    for words in [&["call", "SERVER", "echo"][..], &["read", "SERVER", "a:b"]] {
        let seen = on_terminal(&rig, words, &[]).await;
        let piped = rig.run(words).await;

        assert!(seen.contains("a\\u{1b}[2Jb\r\nc\\u{202e}\r\n"), "{seen:?}");
        assert_eq!(piped.out, text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_is_a_bar_that_is_gone_when_the_answer_is_there() {
    let rig = Rig::new().await;
    with_progress(&rig);

    let seen = on_terminal(&rig, &["call", "SERVER", "echo"], &[]).await;

    let bar = "\r\u{1b}[K[##########..........]  50 %  5 of 10: cop\\u{1b}[2Jying";
    assert!(seen.contains(bar), "{seen:?}");
    assert!(seen.ends_with("\r\u{1b}[Kdone\r\n"), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_of_two_seconds_is_counted_until_it_is_over() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::tool("echo"), Times::Always, |ask| async move {
        tokio::time::sleep(Duration::from_millis(3500)).await;
        let result = ask.result(answer());
        ask.json(result).await;
    });

    let seen = on_terminal(&rig, &["call", "SERVER", "echo"], &[]).await;

    assert!(seen.contains(" s") && seen.contains("\r\u{1b}[K"), "{seen:?}");
    assert!(seen.ends_with("\r\u{1b}[Kdone\r\n"), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn colour_is_for_terminals_whose_owner_does_not_say_no() {
    let rig = Rig::new().await;

    let colourful = on_terminal(&rig, &["tools", "SERVER"], &[]).await;
    let plain = on_terminal(&rig, &["tools", "SERVER"], &[("NO_COLOR", "1")]).await;
    let dumb = on_terminal(&rig, &["tools", "SERVER"], &[("TERM", "dumb")]).await;
    let piped = rig.run(&["tools", "SERVER"]).await.out;

    assert!(colourful.contains("\u{1b}[1mecho\u{1b}["), "{colourful:?}");
    for text in [&plain, &dumb, &piped] {
        assert!(text.contains("echo") && !text.contains('\u{1b}'), "{text:?}");
    }
}

/// Runs the binary with a terminal for stdout and stderr, and returns what was on it.
async fn on_terminal(rig: &Rig, words: &[&str], variables: &[(&str, &str)]) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let side = OpenOptions::new().read(true).write(true).open(name).unwrap();
    let mut command = rig.command(words);
    command.env("TERM", "xterm").envs(variables.iter().copied());
    command.stdout(Stdio::from(side.try_clone().unwrap())).stderr(Stdio::from(side));
    let mut child = command.spawn().unwrap();
    // The command holds the other side too, and the end is seen only when no process does.
    drop(command);
    let seen = spawn_blocking(move || read_all(terminal));
    timeout(Duration::from_secs(50), child.wait()).await.expect("it ends by itself").unwrap();
    seen.await.unwrap()
}

fn read_all(terminal: OwnedFd) -> String {
    let mut terminal = File::from(terminal);
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    // Linux ends a terminal that no process writes to any more with an error.
    while let Ok(read @ 1..) = terminal.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..read]);
    }
    String::from_utf8(seen).unwrap()
}

fn with_progress(rig: &Rig) {
    rig.mcp.rule(When::tool("echo"), Times::Always, |ask| async move {
        let token = ask.params()["_meta"]["progressToken"].clone();
        let mut stream = ask.sse().await;
        let params = json!({"progressToken": token, "progress": 5, "total": 10,
            "message": "cop\u{1b}[2Jying"});
        let step = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        stream.message(None, &step).await;
        stream.answer_and_finish(answer()).await;
    });
}

fn answer() -> Value {
    json!({"content": [{"type": "text", "text": "done"}]})
}
