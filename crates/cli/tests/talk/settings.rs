//! Settings from flags, from the environment and from files; the nearest source wins.

use std::fs;
use std::future::pending;

use ridethrough_lab::{Times, When};
use serde_json::json;

use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flag_wins_over_the_environment_and_that_over_the_files() {
    let rig = Rig::new().await;
    rig.write(
        ".config/ridethrough/ridethrough.toml",
        "header = [\"X-A: user\", \"X-B: user\", \"X-C: user\", \"X-D: user\"]\n",
    );
    rig.write("ridethrough.toml", "header = [\"X-A: here\", \"X-B: here\", \"X-C: here\"]\n");
    rig.run(&["trust", "--yes"]).await;
    let variables = [("RIDETHROUGH_HEADER", "X-A: environment\nX-B: environment")];

    let ran = rig.run_with(&["ping", "SERVER", "--header", "X-A: flag"], &variables).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    let sent = &rig.mcp.log()[0];
    let seen = ["x-a", "x-b", "x-c", "x-d"].map(|name| sent.header(name).unwrap());
    assert_eq!(seen, ["flag", "environment", "here", "user"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_known_is_told() {
    let rig = Rig::new().await;
    let mistyped = [("RIDETHROUGH_TIMEUOT", "1")];

    let warned = rig.run_with(&["ping", "SERVER"], &mistyped).await;
    rig.write(".config/ridethrough/ridethrough.toml", "timeuot = 1\n");
    let refused = rig.run(&["ping", "SERVER"]).await;

    assert_eq!(warned.code, Some(0), "{warned:?}");
    assert!(warned.err.contains("`RIDETHROUGH_TIMEUOT` is not known"), "{warned:?}");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("ridethrough.toml` cannot be used"), "{refused:?}");
    assert!(refused.err.contains("`timeuot` is not known; known are "), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_from_a_file_or_the_environment_is_a_time() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::method("ping"), Times::Always, |ask| async move {
        pending::<()>().await;
        drop(ask);
    });

    let by_variable = rig.run_with(&["ping", "SERVER"], &[("RIDETHROUGH_TIMEOUT", "0.4")]).await;
    rig.write(".config/ridethrough/ridethrough.toml", "timeout = 0.4\n");
    let by_file = rig.run(&["ping", "SERVER"]).await;

    assert_eq!([by_variable.code, by_file.code], [Some(7), Some(7)], "{by_variable:?} {by_file:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_are_saved_where_the_person_says() {
    let rig = Rig::new().await;
    let image = json!({"type": "image", "data": "iVBORw==", "mimeType": "image/png"});
    rig.answer("echo", json!({"content": [image]}));

    let saved = rig.run(&["call", "SERVER", "echo", "--out", "pictures"]).await;

    assert_eq!(saved.out, "[image, image/png, 4 bytes: saved as pictures/echo-1.png]\n");
    assert_eq!(fs::read(rig.folder.join("pictures/echo-1.png")).unwrap(), b"\x89PNG");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_for_machines_are_what_the_server_sent() {
    let rig = Rig::new().await;
    let text = r#"{"content":[],"n":1.10,"big":123456789012345678901234567890}"#;
    rig.mcp.rule(When::tool("echo"), Times::Always, move |ask| async move {
        let message = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{text}}}"#, ask.id());
        ask.json(message).await;
    });

    let ran = rig.run(&["call", "SERVER", "echo", "--json"]).await;

    assert_eq!(ran.out, format!("{text}\n"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shells_and_man_get_what_they_need() {
    let rig = Rig::new().await;

    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = rig.run(&["completions", shell]).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.out.contains("bearer-env"), "{shell}");
    }
    let page = rig.run(&["man"]).await;
    let pages = rig.run(&["man", "--out", "pages"]).await;
    assert!(page.out.contains(".TH ridethrough"), "{page:?}");
    assert_eq!(pages.code, Some(0), "{pages:?}");
    let call = fs::read_to_string(rig.folder.join("pages/ridethrough-call.1")).unwrap();
    assert!(call.contains("bearer"), "{call}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_beyond_the_limit_names_the_flag_that_raises_it() {
    let rig = Rig::new().await;
    rig.answer("big", json!({"content": [{"type": "text", "text": "x".repeat(100_000)}]}));
    let call = ["call", "SERVER", "big", "--unchecked"];

    let refused = rig.run_with(&call, &[("RIDETHROUGH_MAX_MESSAGE", "64KiB")]).await;
    let raised = rig.run(&[&call[..], &["--max-message", "1MiB"]].concat()).await;

    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.err.contains("of more than 64 KiB"), "{refused:?}");
    assert!(refused.err.contains("`--max-message`"), "{refused:?}");
    assert_eq!(raised.code, Some(0), "{}", raised.err);
    assert!(raised.out.contains(&"x".repeat(100_000)));
}

/// The variable was once sent unreplaced, and the server reported a wrong token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_variable_in_a_header_that_nobody_replaces_is_warned_of() {
    let rig = Rig::new().await;
    let told = "the header `X-Key` is sent with `$KEY` as it stands: write `${KEY}`";

    for command in ["ping", "check"] {
        let plain = rig.run(&[command, "SERVER", "--header", "X-Key: $KEY"]).await;
        let words = [command, "SERVER", "--header", "X-Key: ${KEY}"];
        let replaced = rig.run_with(&words, &[("KEY", "$OTHER")]).await;

        assert_eq!(plain.err.matches(told).count(), 1, "{plain:?}");
        assert!(!replaced.err.contains("as it stands"), "{replaced:?}");
    }
}

/// Each command once had forty lines of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_short_help_has_few_of_the_flags_that_all_commands_share() {
    let rig = Rig::new().await;

    let short = rig.run(&["tools", "-h"]).await;
    let long = rig.run(&["tools", "--help"]).await;

    for flag in ["--bearer-env", "--timeout"] {
        assert!(short.out.contains(flag) && long.out.contains(flag), "{flag}: {}", short.out);
    }
    for flag in ["--max-message", "--repeatable", "--insecure"] {
        assert!(!short.out.contains(flag) && long.out.contains(flag), "{flag}: {}", short.out);
    }
}
