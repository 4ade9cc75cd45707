//! The output of every command, byte for byte: its help, its results and its errors.
//!
//! The texts are in `tests/snapshots`. `SNAPSHOTS=write cargo test -p ridethrough-cli --test talk shots`
//! writes them anew; a person then reads the difference.

use ridethrough_lab::{Mood, When};
use serde_json::json;

use crate::rig::Rig;
use crate::snapshots::{assert_snapshot, settled};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_help_of_every_command_is_what_it_was() {
    let rig = Rig::new().await;

    for command in COMMANDS {
        let words: Vec<_> = command.split_whitespace().chain(["--help"]).collect();

        let ran = rig.run(&words).await;

        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{command}");
        let name = if command.is_empty() { "ridethrough" } else { command };
        assert_snapshot(&format!("help-{}", name.replace(' ', "-")), &ran.out);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_output_of_every_command_is_what_it_was() {
    let rig = Rig::new().await;
    rig.rule(
        When::method("prompts/list"),
        json!({"prompts": [{"name": "greet",
        "description": "Greets somebody.", "arguments": [
            {"name": "who", "required": true, "description": "whom"}, {"name": "how"}]}]}),
    );
    rig.rule(
        When::method("resources/list"),
        json!({"resources": [{"uri": "lab://note",
        "name": "note", "title": "A note", "mimeType": "text/plain", "size": 7}]}),
    );
    rig.answer("put", json!({"content": [{"type": "text", "text": "no"}], "isError": true}));

    let mut shots = String::new();
    for words in [
        &["tools", "SERVER"][..],
        &["tools", "SERVER", "--json"],
        &["tools", "SERVER", "deploy"],
        &["tools", "SERVER", "deplyo"],
        &["resources", "SERVER"],
        &["resources", "SERVER", "--json"],
        &["prompts", "SERVER"],
        &["prompts", "SERVER", "--json"],
        &["read", "SERVER", "lab://note"],
        &["read", "SERVER", "lab://note", "--json"],
        &["prompt", "SERVER", "greet", "who=you"],
        &["prompt", "SERVER", "greet", "who=you", "--json"],
        &["prompt", "SERVER", "greet"],
        &["ping", "SERVER", "--count", "2"],
        &["ping", "SERVER", "--json"],
        &["call", "SERVER", "echo", "msg=hi"],
        &["call", "SERVER", "echo", "msg=hi", "--json"],
        &["call", "SERVER", "put"],
        &["call", "SERVER", "deploy", "replicas=none"],
        &["call", "SERVER", "deploy", "--json"],
        &["call", "SERVER", "deploy", "to=moon", "replicas=99", "more=1"],
        &["call", "SERVER", "echo", "mgs=hi", "msg=ho"],
        &["call", "SERVER", "echo", "msg=@nowhere"],
        &["call", "SERVER", "nothing"],
        &["call", "SERVER", "echo", "msg", "=", "hi"],
        &["call", "SERVER", "echo", "msg:hi"],
        &["call", "SERVER", "echo", "msg=hello", "world"],
        &["call", "SERVER", "echo", "@args.json"],
        &["call", "nowhere", "echo"],
        &["read", "SERVER"],
        &["ping", "SERVER", "--timeout", "soon"],
    ] {
        shots += &shot(&rig, words).await;
    }
    assert_snapshot("output", &shots);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_errors_of_a_server_in_trouble_are_what_they_were() {
    let rig = Rig::new().await;
    let mut shots = String::new();
    rig.mcp.rule(When::tool("put"), ridethrough_lab::Times::Always, |ask| async move {
        ask.run();
        ask.sse().await.cut().await;
    });
    rig.mcp.rule(
        When::method("resources/read"),
        ridethrough_lab::Times::Always,
        |ask| async move {
            let error = ask.error(-32002, "Resource not found");
            ask.json(error).await;
        },
    );

    shots += &shot(&rig, &["call", "SERVER", "put"]).await;
    shots += &shot(&rig, &["call", "SERVER", "put", "--json"]).await;
    shots += &shot(&rig, &["read", "SERVER", "a:b"]).await;
    rig.mcp.require_bearer(Some("right"));
    shots += &shot(&rig, &["tools", "SERVER"]).await;
    rig.server.set_mood(Mood::Down);
    shots += &shot(&rig, &["tools", "SERVER", "--policy", "never"]).await;
    shots += &shot(&rig, &["tools", "SERVER", "--policy", "never", "--json"]).await;

    assert_snapshot("trouble", &shots);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_output_of_commands_that_need_no_server_is_what_it_was() {
    let rig = Rig::new().await;
    rig.write(".cursor/mcp.json", include_str!("../configs/cursor/.cursor/mcp.json"));
    rig.write("broken/.mcp.json", "{\"mcpServers\": ");

    let mut shots = String::new();
    for words in [
        &["import", "--offline"][..],
        &["import", "--offline", "--json"],
        &["import", "--offline", "broken/.mcp.json"],
        &["import", "nowhere.json"],
        &["import", "--undo"],
        &["bridge"],
        &["bridge", "ftp://example.com/"],
        &["bridge", "nobody"],
        &["bridge", "http://example.com/mcp"],
        &["bridge", "https://example.com/mcp", "--header", "X-Key: ${NOWHERE}"],
        &["bridge", "https://example.com/mcp", "--static-oauth-client-info", "{}"],
        &["servers"],
        &["servers", "--json"],
        &["tools", "--"],
        &["tools", "http://127.0.0.1:1/", "--", "/bin/sh"],
        &["status"],
        &["status", "--json"],
        &["expose"],
        &["expose", "--", "no-such-program"],
        &["expose", "--listen", "0.0.0.0:0", "--no-token", "--", "/bin/sh"],
        &["completions", "nosuchshell"],
        &["completions", "fish"],
        &["man"],
        &["expose", "--port", "4000", "--", "/bin/sh"],
        &["expose", "/bin/sh", "-c", "x"],
        &["call", "http://127.0.0.1:1/mcp", "echo", "--params", "{\"a\": 1}"],
        &["call", "http://127.0.0.1:1/mcp", "echo", "--tool-arg", "a=1"],
        &["tools", "http://127.0.0.1:1/mcp", "--transport", "sse"],
        &["nonsense"],
        &["http://127.0.0.1:1/mcp"],
        &["tools"],
        &["call", "http://127.0.0.1:1/mcp"],
        &["tools", "http://127.0.0.1:70010/mcp"],
        &["tools", "http://me:password@127.0.0.1:1/mcp"],
        &["tools", "http://127.0.0.1:1/mcp", "--header", "foo"],
        &["tools", "http://127.0.0.1:1/mcp", "--bearer-env", "NOWHERE"],
        &["tools", "http://127.0.0.1:1/mcp?toolset=issues&key=secret", "--policy", "never"],
    ] {
        shots += &shot(&rig, words).await;
    }
    assert_snapshot("without-a-server", &shots);
}

/// Text that the compiler derives is for developers, not for users.
#[test]
fn no_snapshot_shows_debug_text() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            assert!(!is_debug_text(line), "{}: {line}", path.display());
        }
        seen += 1;
    }
    assert!(seen > 20, "{seen} files");
}

/// Whether a line shows an enum or a struct as the compiler writes it: `Some(1)`, `Found { era: Legacy }`.
fn is_debug_text(line: &str) -> bool {
    let marks = ["Some(", "Ok(", "Err(", ": None", " None,"];
    let is_name = |word: &str| word.starts_with(|first: char| first.is_ascii_uppercase());
    let mut words = line.split(' ').zip(line.split(' ').skip(1));
    marks.iter().any(|mark| line.contains(mark))
        || words.any(|(word, next)| next == "{" && is_name(word))
}

async fn shot(rig: &Rig, words: &[&str]) -> String {
    let ran = rig.run(words).await;
    let home = rig.folder.to_string_lossy().into_owned();
    let settled = |text: &str| settled(&text.replace(&home, "HOME"), &rig.url);
    let (out, err) = (settled(&ran.out), settled(&ran.err));
    let code = ran.code.unwrap();
    let part = |name: &str, text: &str| {
        if text.is_empty() { String::new() } else { format!("--- {name}\n{text}") }
    };
    let (out, err) = (part("stdout", &out), part("stderr", &err));
    format!("$ ridethrough {}\n{out}{err}--- exit {code}\n\n", words.join(" "))
}

/// Every command that a person may type; the empty one is the program itself.
const COMMANDS: &[&str] = &[
    "",
    "auth",
    "auth move",
    "auth status",
    "bridge",
    "call",
    "check",
    "completions",
    "expose",
    "gateway",
    "gateway approve",
    "gateway check",
    "gateway schema",
    "gateway token",
    "gateway token add",
    "gateway token list",
    "gateway token remove",
    "import",
    "login",
    "logout",
    "man",
    "ping",
    "prompt",
    "prompts",
    "read",
    "resources",
    "servers",
    "status",
    "task",
    "task cancel",
    "task list",
    "task result",
    "task status",
    "tools",
    "watch",
];
