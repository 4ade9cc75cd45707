//! Questions of a server while a tool runs: answered by a person at a terminal, by flags, or refused.

use std::time::Duration;

use ridethrough_lab::{Round, Spoken, Times, When};
use serde_json::{Value, json};

use crate::rig::Rig;

mod person {
    use super::*;
    use crate::pty::Person;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_person_fills_in_a_form_while_the_tool_runs() {
        let rig = Rig::new().await;
        asks(&rig, "elicitation/create", who());
        let mut person = Person::at(&rig, &["call", "SERVER", "echo"]);

        person.sees("asks:\r\n  | Who are you?\\u{1b}[2J\r\n").await;
        person.answers("\r\ncalled: ", "A").await;
        person.answers("characters at least 2\r\n\r\nYour name (1 of 3)", "Ann").await;
        person.answers("days [30]: ", "").await;
        person.answers("hue: ", "2").await;
        person.sees("  called: Ann\r\n  days: 30\r\n  hue: green\r\n").await;
        person.answers("edit [yes]: ", "").await;
        let (code, out, seen) = person.leaves().await;

        assert_eq!((code, out.as_str()), (Some(0), "done\n"), "{seen:?}");
        let answers = answers(&rig);
        let content = json!({"called": "Ann", "days": 30, "hue": "green"});
        assert_eq!(answers[0]["result"], json!({"action": "accept", "content": content}));
        let declared = &initialized(&rig)["params"]["capabilities"]["elicitation"];
        assert_eq!(*declared, json!({"form": {}, "url": {}}));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn ctrl_c_declines_the_form_and_the_next_one_ends_the_command() {
        let rig = Rig::new().await;
        asks(&rig, "elicitation/create", who());
        let mut person = Person::at(&rig, &["call", "SERVER", "echo"]);
        person.sees("\r\ncalled: ").await;

        person.interrupts();
        person.sees("declined; Ctrl-C again ends the command").await;
        let (code, out, seen) = person.leaves().await;

        assert_eq!((code, out.as_str()), (Some(0), "done\n"), "{seen:?}");
        assert_eq!(answers(&rig)[0]["result"], json!({"action": "decline"}));

        // A server that asks again cannot keep a person in the command.
        rig.mcp.clear_rules();
        asks_twice(&rig);
        let mut person = Person::at(&rig, &["call", "SERVER", "echo"]);
        person.sees("agree? yes or no: ").await;
        person.interrupts();
        person.sees("agree? yes or no: ").await;
        person.interrupts();
        let (code, _, seen) = person.leaves().await;
        assert_eq!(code, Some(130), "{seen:?}");
        assert!(seen.contains("stopped: "), "{seen:?}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_end_of_input_cancels_the_form() {
        let rig = Rig::new().await;
        asks(&rig, "elicitation/create", who());
        let mut person = Person::at(&rig, &["call", "SERVER", "echo"]);
        person.sees("\r\ncalled: ").await;

        person.types("\u{4}");
        let (code, _, seen) = person.leaves().await;

        assert_eq!(code, Some(0), "{seen:?}");
        assert_eq!(answers(&rig)[0]["result"], json!({"action": "cancel"}));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_was_typed_before_the_form_was_shown_is_no_answer_to_it() {
        let rig = Rig::new().await;
        rig.mcp.rule(When::tool("echo"), Times::Once, |ask| async {
            let mut sse = ask.sse().await;
            tokio::time::sleep(Duration::from_millis(2500)).await;
            let agree = json!({"message": "all right?", "requestedSchema": {"type": "object", "properties": {}}});
            sse.message(None, &question("elicitation/create", agree)).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            sse.answer_and_finish(done()).await;
        });
        let mut person = Person::at(&rig, &["call", "SERVER", "echo"]);

        person.sees("waiting for the server").await;
        person.types("yes\n");
        person.sees("agree? yes or no: ").await;
        let (_, _, seen) = person.leaves().await;

        assert!(answers(&rig).is_empty(), "{seen:?}");
        assert!(seen.contains("the question is closed"), "{seen:?}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_url_is_shown_whole_with_its_host_and_opened_by_nobody() {
        let rig = Rig::new().await;
        let url = "https://bank.example@evil.example:81/login?next=1";
        let params = json!({"mode": "url", "message": "log in", "url": url, "elicitationId": "e"});
        asks(&rig, "elicitation/create", params);
        let mut person = Person::at(&rig, &["call", "SERVER", "echo"]);

        person
            .sees(&format!(
                "\r\n  {url}\r\n\r\n  host: evil.example:81\r\nwarning: what stands before"
            ))
            .await;
        person.answers("yes or no: ", "").await;
        person.answers("yes or no: ", "yes").await;
        let (code, _, seen) = person.leaves().await;

        assert_eq!(code, Some(0), "{seen:?}");
        assert_eq!(answers(&rig)[0]["result"], json!({"action": "accept"}));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_stateless_server_asks_by_rounds() {
        let rig = Rig::new().await;
        rig.mcp.speaks(Spoken::Modern);
        let round = |params: Value, state: &str| Round {
            input: Some(json!({"who": {"method": "elicitation/create", "params": params}})),
            state: Some(state.to_owned()),
        };
        let agree =
            json!({"message": "sure?", "requestedSchema": {"type": "object", "properties": {}}});
        rig.mcp.asks_for_input("echo", vec![round(who(), "1"), round(agree, "2")]);
        let mut person = Person::at(
            &rig,
            &["call", "SERVER", "echo", "msg=hi", "--era", "modern", "--answer", "called=Ann"],
        );

        person.sees("  called: Ann\r\n").await;
        person.answers("days [30]: ", "31").await;
        person.answers("hue: ", "red").await;
        person.answers("edit [yes]: ", "y").await;
        person.answers("agree? yes or no: ", "y").await;
        let (code, out, seen) = person.leaves().await;

        assert_eq!((code, out.as_str()), (Some(0), "hi\n"), "{seen:?}");
        let calls: Vec<Value> =
            rig.mcp.log().iter().filter(|it| When::tool("echo").holds(it)).map(body).collect();
        let content = &calls[1]["params"]["inputResponses"]["who"]["content"];
        assert_eq!(*content, json!({"called": "Ann", "days": 31, "hue": "red"}));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn tools_declares_what_call_declares() {
        let rig = Rig::new().await;

        let (code, _, seen) = Person::at(&rig, &["tools", "SERVER"]).leaves().await;

        assert_eq!(code, Some(0), "{seen:?}");
        let declared = &initialized(&rig)["params"]["capabilities"]["elicitation"];
        assert_eq!(*declared, json!({"form": {}, "url": {}}));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_terminal_a_form_is_declined_and_told_with_what_would_answer_it() {
    let rig = Rig::new().await;
    asks(&rig, "elicitation/create", who());

    let ran = rig.run(&["call", "SERVER", "echo"]).await;

    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "done\n"), "{ran:?}");
    assert_eq!(answers(&rig)[0]["result"], json!({"action": "decline"}));
    assert!(
        ran.err.contains(
            "the server asked for `called`, `days`, `hue` (`Who are you?\\u{1b}[2J`); it was declined"
        ),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("`--answer called=... --answer days=... --answer hue=...`"),
        "{}",
        ran.err
    );
    assert!(initialized(&rig)["params"]["capabilities"]["elicitation"].is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_of_the_command_line_fill_in_a_form() {
    let rig = Rig::new().await;
    asks(&rig, "elicitation/create", who());

    let ran = rig
        .run(&[
            "call",
            "SERVER",
            "echo",
            "--answer",
            "called=Ann",
            "--answer",
            "hue=green",
            "--answer",
            "more=1",
        ])
        .await;

    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "done\n"), "{ran:?}");
    let content = json!({"called": "Ann", "days": 30, "hue": "green"});
    assert_eq!(answers(&rig)[0]["result"], json!({"action": "accept", "content": content}));
    assert!(ran.err.contains("answered by `--answer`"), "{}", ran.err);
    assert!(ran.err.contains("warning: no form asked for `more`"), "{}", ran.err);
    let declared = &initialized(&rig)["params"]["capabilities"]["elicitation"];
    assert_eq!(*declared, json!({"form": {}}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_do_not_fit_or_do_not_do_decline_the_form_and_say_why() {
    for (answers_given, reason) in [
        (&["--answer", "called=A"][..], "`called` must be string, characters at least 2"),
        (&["--answer", "called=Ann"], "`hue` is required"),
        (&["--answer", "other=1"], "`--answer` has nothing of what it asks for"),
    ] {
        let rig = Rig::new().await;
        asks(&rig, "elicitation/create", who());

        let ran = rig.run(&[&["call", "SERVER", "echo"], answers_given].concat()).await;

        assert_eq!(ran.code, Some(1), "what was wanted did not happen: {ran:?}");
        assert_eq!(answers(&rig)[0]["result"], json!({"action": "decline"}));
        assert!(ran.err.contains("was declined: ") && ran.err.contains(reason), "{}", ran.err);
        assert_eq!(
            ran.err.contains("no form asked for"),
            reason.contains("nothing"),
            "{}",
            ran.err
        );
    }
}

/// Servers that speak both eras and ask by requests of their own cannot ask without a session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_speaks_both_eras_has_a_session_where_it_can_be_answered() {
    let rig = Rig::new().await;
    rig.mcp.speaks(Spoken::Both);
    asks(&rig, "elicitation/create", who());
    let call = ["call", "SERVER", "echo", "--era", "auto", "--timeout", "20"];

    let alone = rig.run(&["tools", "SERVER", "--era", "auto"]).await;
    let sessions_alone = rig.mcp.count(&When::method("initialize"));
    let ran =
        rig.run(&[&call[..], &["--answer", "called=Ann", "--answer", "hue=green"]].concat()).await;

    assert_eq!(sessions_alone, 0, "nobody answers, and nobody needs one: {alone:?}");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "done\n"), "{ran:?}");
    assert_eq!(answers(&rig)[0]["result"]["content"]["called"], "Ann");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_object_agrees_to_a_form_as_it_is_proposed() {
    let rig = Rig::new().await;
    asks(
        &rig,
        "elicitation/create",
        json!({"message": "sure?", "requestedSchema": {"type": "object", "properties": {}}}),
    );

    let ran = rig.run(&["call", "SERVER", "echo", "--answer", "{}"]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(answers(&rig)[0]["result"], json!({"action": "accept", "content": {}}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_answers_is_refused_and_told() {
    for (method, words) in
        [("own/method", "the server asked `own/method`, which this command does not answer")]
    {
        let rig = Rig::new().await;
        asks(&rig, method, json!({"messages": []}));

        let ran = rig.run(&["call", "SERVER", "echo"]).await;

        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(answers(&rig)[0]["error"]["code"], -32601);
        assert!(ran.err.contains(words), "{}", ran.err);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_are_no_words_of_arguments_are_wrong_usage() {
    let rig = Rig::new().await;

    let ran = rig.run(&["call", "SERVER", "echo", "--answer", "nonsense"]).await;

    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err.contains("`--answer` cannot be used: `nonsense` is no `key=value`"),
        "{}",
        ran.err
    );
    assert!(rig.mcp.log().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_of_the_user_is_the_model_that_a_server_asks() {
    let rig = Rig::new().await;
    asks(&rig, "sampling/createMessage", json!({"messages": [{"role": "user"}], "maxTokens": 5}));
    rig.write("model.sh", "echo 'thinking\u{1b}[2J' >&2; grep -o '\"maxTokens\":[0-9]*'");

    let ran =
        rig.run(&["call", "SERVER", "echo", "--sampling-command", "/bin/sh 'model.sh'"]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    let result = &answers(&rig)[0]["result"];
    assert_eq!(result["content"], json!({"type": "text", "text": "\"maxTokens\":5"}));
    assert_eq!((&result["role"], &result["model"]), (&json!("assistant"), &json!("sh")));
    assert!(ran.err.contains("the server asks a model (1 message): `/bin/sh` answers"), "{ran:?}");
    assert!(ran.err.contains("thinking\\u{1b}[2J\n"), "{ran:?}");
    assert_eq!(initialized(&rig)["params"]["capabilities"]["sampling"], json!({}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_fails_is_an_error_to_the_server_and_told() {
    for (command, words) in [
        ("/bin/sh -c 'cat; exit 3'", "the sampling command failed (exit status: 3)"),
        ("/bin/true", "the sampling command printed nothing"),
        ("no-such-program", "`no-such-program` cannot be started"),
    ] {
        let rig = Rig::new().await;
        asks(&rig, "sampling/createMessage", json!({"messages": []}));

        let ran = rig.run(&["call", "SERVER", "echo", "--sampling-command", command]).await;

        assert_eq!(ran.code, Some(0), "{ran:?}");
        let error = json!({"code": -32603, "message": "the model of this client failed"});
        assert_eq!(answers(&rig)[0]["error"], error);
        assert!(ran.err.contains(words), "{ran:?}");
    }
    let rig = Rig::new().await;
    let ran = rig.run(&["call", "SERVER", "echo", "--sampling-command", "a 'b"]).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(rig.mcp.log().is_empty());
}

/// Makes `echo` ask this once, and end when it has an answer.
fn asks(rig: &Rig, method: &'static str, params: Value) {
    rig.mcp.rule(When::tool("echo"), Times::Once, move |ask| {
        let params = params.clone();
        async move {
            let mcp = ask.mcp().clone();
            let mut sse = ask.sse().await;
            sse.message(None, &question(method, params)).await;
            while mcp.count(&When::response()) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            sse.answer_and_finish(done()).await;
        }
    });
}

/// Makes `echo` ask twice for a yes, and never end.
fn asks_twice(rig: &Rig) {
    rig.mcp.rule(When::tool("echo"), Times::Once, |ask| async {
        let mut sse = ask.sse().await;
        for id in ["q1", "q2"] {
            let mut agree =
                question("elicitation/create", json!({"message": id, "requestedSchema": {}}));
            agree["id"] = id.into();
            sse.message(None, &agree).await;
        }
        sse.gone().await;
    });
}

fn question(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": "q", "method": method, "params": params})
}

fn who() -> Value {
    json!({"message": "Who are you?\u{1b}[2J", "requestedSchema": {"type": "object", "required": ["called", "hue"],
        "properties": {
            "called": {"type": "string", "title": "Your name", "minLength": 2},
            "days": {"type": "integer", "default": 30},
            "hue": {"type": "string", "enum": ["red", "green"]}}}})
}

fn done() -> Value {
    json!({"content": [{"type": "text", "text": "done"}]})
}

/// Returns the client's answers to the server's questions.
fn answers(rig: &Rig) -> Vec<Value> {
    rig.mcp.log().iter().filter(|it| When::response().holds(it)).map(body).collect()
}

fn initialized(rig: &Rig) -> Value {
    let log = rig.mcp.log();
    body(log.iter().find(|it| When::method("initialize").holds(it)).unwrap())
}

fn body(entry: &ridethrough_lab::Entry) -> Value {
    serde_json::from_slice(&entry.body).unwrap()
}
