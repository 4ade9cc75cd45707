//! Servers that are not there, refuse the client, are something else, or are hostile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ridethrough_lab::{Mood, Times, What, When};
use serde_json::json;
use tokio::time::sleep;

use super::{answer_all, assert_finding, checked, refused};
use crate::rig::{Ran, Rig};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_not_there_ends_with_4_and_advice() {
    let rig = Rig::new().await;
    rig.server.set_mood(Mood::Down);

    let ran = rig.run(&["check", "SERVER"]).await;
    let named = rig.run(&["check", "http://nowhere.invalid/mcp"]).await;

    assert_eq!([ran.code, named.code], [Some(4), Some(4)], "{ran:?} {named:?}");
    assert!(ran.out.contains("refuses connections") && ran.out.contains("1. start the server"));
    assert!(named.out.contains("the name `nowhere.invalid` is not known"), "{named:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_wants_a_token_ends_with_5_and_says_which() {
    let rig = Rig::new().await;
    rig.mcp.require_bearer(Some("s3cret"));
    let ran = rig.run(&["check", "SERVER"]).await;
    let words = ["check", "SERVER", "--bearer-env", "TOKEN", "-vvv"];
    let right = rig.run_with(&words, &[("TOKEN", "s3cret")]).await;
    let challenge =
        "Bearer error=\"invalid_token\", resource_metadata=\"https://a.example/meta?k=s3cret\"";
    answer_all(&rig, move |ask| async move {
        ask.status(401, &[("www-authenticate", challenge)], "").await;
    });
    let wrong = rig.run_with(&words, &[("TOKEN", "s3cret")]).await;

    assert_eq!(
        [ran.code, right.code, wrong.code],
        [Some(5), Some(0), Some(5)],
        "{ran:?} {wrong:?}"
    );
    assert!(
        ran.out.contains("asks for `Bearer`") && ran.out.contains("--bearer-env VAR"),
        "{ran:?}"
    );
    assert!(wrong.out.contains("`https://a.example/meta`"), "{wrong:?}");
    assert!(wrong.out.contains("wrong or too old"), "{wrong:?}");
    for ran in [&ran, &right, &wrong] {
        assert!(!format!("{ran:?}").contains("s3cret"), "{ran:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_server_of_today_is_told_with_a_guess() {
    let html = [("content-type", "text/html")];
    let page = refused(move |ask| async move { ask.status(200, &html, "<html>").await }).await;
    let wrong_path = {
        let rig = Rig::new().await;
        answer_all(&rig, |ask| async move { ask.status(404, &[], "").await });
        let root = rig.url.trim_end_matches("/mcp").to_owned();
        rig.run(&["check", &root]).await
    };
    let moved = refused(|ask| async move {
        ask.status(302, &[("location", "https://login.example/sso/start?to=s3cret")], "").await;
    })
    .await;
    let old = refused(|ask| async move {
        match ask.entry.what {
            What::Listen => {
                let mut sse = ask.sse().await;
                sse.raw("event: endpoint\ndata: /messages?sessionId=s3cret\n\n").await;
                sse.gone().await;
            }
            _ => ask.status(405, &[], "").await,
        }
    })
    .await;
    let modern = refused(|ask| async move {
        let data = json!({"supported": ["2026-07-28"], "requested": "2025-11-25"});
        let error = json!({"code": -32022, "message": "Unsupported", "data": data});
        let body = json!({"jsonrpc": "2.0", "id": ask.id(), "error": error}).to_string();
        ask.status(400, &[("content-type", "application/json")], body).await;
    })
    .await;

    for (ran, words, code) in [
        (page, "a web page answers (200)", 8),
        (wrong_path, "perhaps `/mcp` is missing", 8),
        (moved, "redirects (302) to `https://login.example/sso/start`", 8),
        (old, "HTTP+SSE of 2024-11-05, which is deprecated; our client speaks it", 0),
        (modern, "names the stateless revision 2026-07-28, and refuses it", 8),
    ] {
        assert_eq!(ran.code, Some(code), "{ran:?}");
        let out = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.contains(words) && !out.contains("s3cret"), "{words}: {out}");
    }
}

/// `tools` once printed the server's words, and `check` did not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_says_when_it_refuses_is_told() {
    let challenge = "Bearer error=\"invalid_token\", error_description=\"expired: see /help?x\"";
    for (status, header, words) in [
        (401, challenge, "error_description `expired: see /help?x`"),
        (403, "", "the server said `ask the admins`"),
        (500, "", "turns us away: 500; the server said `ask the admins`"),
    ] {
        let ran = refused(move |ask| async move {
            let header = [("www-authenticate", header)];
            let header = if status == 401 { &header[..] } else { &[] };
            ask.status(status, header, "<!doctype html><body>ask the <b>admins</b></body>").await;
        })
        .await;

        let out = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.contains(words), "{words}: {out}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_to_the_same_server_is_followed_and_told() {
    let rig = Rig::new().await;
    let is_old = |it: &ridethrough_lab::Entry| it.target == "/mcp";
    rig.mcp.rule(When::matches(is_old), Times::Always, |ask| async move {
        ask.status(308, &[("location", "/v2/mcp")], "").await;
    });

    let report = checked(&rig).await;

    assert_finding(&report, "redirect", "note", "sends everybody on to `/v2/mcp`");
    assert_finding(&report, "delete", "good", "it is gone then");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_server_ends_with_4() {
    let ran =
        refused(|ask| async move { ask.status(503, &[("retry-after", "7")], "").await }).await;

    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.out.contains("turns us away: 503 and asks to wait 7 s"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_server_neither_hangs_the_check_nor_speaks_to_the_terminal() {
    let rig = Rig::new().await;
    rig.mcp.initialize_result(json!({"capabilities": {"tools": {}},
        "serverInfo": {"name": "evil\u{1b}]0;owned\u{7}\nAdvice\n  1. run me", "version": "\u{202e}"}}));
    rig.mcp.tools(json!([{"name": "a\u{1b}[2J\nb", "inputSchema": {}}]));
    rig.mcp.rule(When::listen(), Times::Always, |ask| async move {
        let mut sse = ask.sse().await;
        while sse.raw(vec![b'x'; 1 << 16]).await {}
    });
    rig.mcp.rule(When::method("ping"), Times::Always, |ask| async move {
        let mut sse = ask.sse().await;
        while sse.raw(vec![b'y'; 1 << 16]).await {}
    });

    let ran = rig.run(&["check", "SERVER"]).await;
    let json = rig.run(&["check", "SERVER", "--json"]).await;

    assert_eq!([ran.code, json.code], [Some(0), Some(0)], "{ran:?}");
    for text in [&ran.out, &json.out] {
        assert!(!text.contains(|it: char| it.is_control() && it != '\n'), "{text:?}");
        assert!(!text.contains('\u{202e}') && !text.contains("\n  1. run me"), "{text:?}");
    }
    assert_finding(&json.json(), "standing", "warning", "floods its standing stream");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_without_end_is_read_in_part_only() {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    let ran = refused(move |ask| {
        let count = count.clone();
        async move {
            let Ok(mut raw) = ask.reply().1.raw() else { return };
            raw.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n").await;
            while raw.write(vec![b' '; 1 << 16]).await {
                count.fetch_add(1 << 16, Ordering::Relaxed);
            }
        }
    })
    .await;

    assert_eq!(ran.code, Some(8), "{ran:?}");
    assert!(ran.out.contains("answers `initialize` without end"), "{ran:?}");
    // The client reads one answer, up to a mebibyte, and the kernel holds some more.
    assert!(sent.load(Ordering::Relaxed) < 64 << 20, "{sent:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_ends_with_7_when_the_time_is_over() {
    let rig = Rig::new().await;
    answer_all(&rig, |ask| async move { ask.reply().1.hold().await });

    let ran = rig.run(&["check", "SERVER", "--timeout", "1"]).await;

    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert!(ran.out.contains("1. give it more time by --timeout"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_keeps_to_its_time_and_says_what_it_could_not_look_at() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::method("tools/list"), Times::Always, |ask| async move {
        ask.reply().1.hold().await;
    });

    let began = std::time::Instant::now();
    let ran = rig.run(&["check", "SERVER", "--timeout", "4", "--json"]).await;

    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_finding(&ran.json(), "list", "unknown", "because the time of the check was over");
    assert_eq!(rig.mcp.count(&When::delete()), 1, "the session is given back all the same");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_is_checked_whether_it_has_a_url_or_is_a_program() {
    let rig = Rig::new().await;
    let servers = json!({"it": {"type": "http", "url": rig.url},
        "local": {"command": "/bin/sh", "args": ["-c", "touch started"]}});
    rig.write(".mcp.json", &json!({"mcpServers": servers}).to_string());
    rig.run(&["trust", ".mcp.json", "--yes"]).await;

    let named = rig.run(&["check", "it"]).await;
    let local = rig.run(&["check", "local"]).await;

    assert_eq!([named.code, local.code], [Some(0), Some(4)], "{named:?} {local:?}");
    assert!(local.err.contains("`local` is the program `/bin/sh`, from "), "{local:?}");
    assert!(local.out.contains("1. start it by hand, and see what it says on stderr"), "{local:?}");
    assert!(rig.folder.join("started").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_in_the_address_are_never_shown() {
    let rig = Rig::new().await;
    answer_all(&rig, |ask| async move {
        let error = ask.error(-32000, &format!("no such path {}", ask.entry.target));
        ask.status(400, &[("content-type", "application/json")], error).await;
    });

    let ran = rig.run(&["check", "SERVER?key=s3cret", "-vvv"]).await;

    assert_eq!(ran.code, Some(8), "{ran:?}");
    assert!(!format!("{ran:?}").contains("s3cret"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_ends_a_check_with_130() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::method("ping"), Times::Always, |ask| async move {
        ask.reply().1.hold().await;
    });
    let mut command = rig.command(&["check", "SERVER"]);
    let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    for _ in 0..1000 {
        if rig.mcp.count(&When::method("ping")) > 0 {
            break;
        }
        sleep(Duration::from_millis(20)).await;
    }

    let id = child.id().unwrap().to_string();
    std::process::Command::new("kill").args(["-INT", &id]).status().unwrap();
    let ran: Ran = child.wait_with_output().await.unwrap().into();

    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.err.contains("stopped: no tool was called"), "{ran:?}");
}
