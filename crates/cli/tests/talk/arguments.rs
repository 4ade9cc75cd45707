//! Typed arguments reach the server with the types of its schema, or nothing is sent.

use std::process::Stdio;

use futures_util::FutureExt;
use ridethrough_lab::{Times, When};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::rig::{Ran, Rig};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_value_has_the_type_that_the_tool_wants() {
    let rig = Rig::new().await;

    let ran = rig
        .run(&[
            "call",
            "SERVER",
            "deploy",
            "to=production",
            "replicas=3",
            "ratio=1.5",
            "dry=true",
            r#"tags=["a","b"]"#,
            r#"labels={"team":"blue"}"#,
            "note=7",
        ])
        .await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        rig.mcp.runs()[0].arguments,
        json!({"to": "production", "replicas": 3, "ratio": 1.5, "dry": true, "tags": ["a", "b"],
               "labels": {"team": "blue"}, "note": "7"})
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_missing_or_misspelt_is_told_together_and_nothing_is_called() {
    let rig = Rig::new().await;

    let pairs = rig.run(&["call", "SERVER", "deploy", "to=moon", "more=1"]).await;
    let typo = rig.run(&["call", "SERVER", "deploy", "to=staging", "replcas=3"]).await;
    let object = rig.run(&["call", "SERVER", "deploy", r#"{"to":"moon"}"#]).await;

    assert_eq!((pairs.code, typo.code, object.code), (Some(2), Some(2), Some(2)));
    for words in [
        "`replicas` is missing: integer, at least 1, at most 9 (how many)",
        "`more` is not known; known are dry, labels,",
        "the tool was not called",
        "\n\nhint: ",
    ] {
        assert!(pairs.err.contains(words), "{words}: {}", pairs.err);
    }
    assert!(typo.err.contains("did you mean `replicas`?"), "{typo:?}");
    assert!(object.err.contains("`replicas` is missing: "), "{object:?}");
    assert_eq!(rig.mcp.executions("deploy"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_value_is_worth_the_server_says_and_a_hint_names_the_schema() {
    let rig = Rig::new().await;
    let refusal = "Input validation error: 'moon' is not one of ['staging', 'production']";
    rig.answer("deploy", json!({"content": [{"type": "text", "text": refusal}], "isError": true}));

    let ran = rig.run(&["call", "SERVER", "deploy", "to=moon", "replicas=many"]).await;

    assert_eq!((ran.code, ran.out), (Some(3), format!("{refusal}\n")));
    let hint = format!("hint: `ridethrough tools {} deploy` shows what it takes", rig.url);
    assert_eq!(ran.err, format!("error: the server says that `deploy` failed\n\n{hint}\n"));
    assert_eq!(rig.mcp.runs()[0].arguments, json!({"to": "moon", "replicas": "many"}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_that_a_server_refuses_by_an_error_lead_to_the_schema_too() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| {
        let error = ask.error(-32602, "replicas: not a number");
        async move { ask.json(error).await }
    });

    let ran = rig.run(&["call", "SERVER", "deploy", "to=moon", "replicas=many"]).await;

    assert_eq!(ran.code, Some(8), "{ran:?}");
    let told = "error: the server answered with error -32602: `replicas: not a number`";
    let hint = format!("hint: `ridethrough tools {} deploy` shows what it takes", rig.url);
    assert_eq!(ran.err, format!("{told}\n\n{hint}\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_can_be_given_as_a_word_or_on_stdin() {
    let rig = Rig::new().await;
    let mut command = rig.command(&["call", "SERVER", "echo", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(br#"{"msg": "from stdin"}"#).await.unwrap();

    let by_stdin: Ran = child.wait_with_output().await.unwrap().into();
    let by_word = rig.run(&["call", "SERVER", "echo", r#"{"msg": "a word"}"#]).await;

    assert_eq!((by_stdin.out.as_str(), by_stdin.code), ("from stdin\n", Some(0)), "{by_stdin:?}");
    assert_eq!((by_word.out.as_str(), by_word.code), ("a word\n", Some(0)), "{by_word:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_is_not_listed_is_called_only_if_that_is_said() {
    let rig = Rig::new().await;

    let refused = rig.run(&["call", "SERVER", "hidden", "msg=hi"]).await;
    let forced = rig.run(&["call", "SERVER", "hidden", "msg=hi", "--unchecked"]).await;

    assert_eq!(refused.code, Some(2));
    assert!(
        refused.err.contains("lists no tool `hidden`: it has echo, deploy, look"),
        "{refused:?}"
    );
    assert_eq!((forced.out.as_str(), forced.code), ("hi\n", Some(0)), "{forced:?}");
    assert_eq!(rig.mcp.executions("hidden"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_is_asked_for_only_with_what_it_takes() {
    let rig = Rig::new().await;
    let prompts = json!({"prompts": [{"name": "greet", "arguments": [
        {"name": "who", "required": true, "description": "whom to greet"}, {"name": "how"}]}]});
    rig.rule(When::method("prompts/list"), prompts);

    let wrong = rig.run(&["prompt", "SERVER", "greet", "when=now"]).await;
    let unknown = rig.run(&["prompt", "SERVER", "insult"]).await;
    let unnamed = rig.run(&["prompt", "SERVER", "greet", "you all"]).await;
    let asked = || rig.mcp.count(&When::method("prompts/get"));
    let before = asked();
    let right = rig.run(&["prompt", "SERVER", "greet", "who=you"]).await;

    assert_eq!((wrong.code, unknown.code, before), (Some(2), Some(2), 0));
    assert!(wrong.err.contains("`who` is missing (whom to greet)"), "{wrong:?}");
    assert!(wrong.err.contains("`when` is not known"), "{wrong:?}");
    assert!(unnamed.err.contains("with their names: `who='you all'`"), "{unnamed:?}");
    assert!(unknown.err.contains("lists no such prompt, but greet"), "{unknown:?}");
    assert_eq!((right.code, asked()), (Some(0), 1), "{right:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_json_places_and_lists_reach_the_server_as_they_were_typed() {
    let rig = Rig::new().await;
    rig.write("note.md", "# 12\n");
    rig.write("labels.json", r#"{"team": "blue"}"#);

    let ran = rig
        .run(&[
            "call",
            "SERVER",
            "deploy",
            "to=staging",
            "replicas:=2",
            "note=@note.md",
            "labels:=@labels.json",
            "tags=a",
            "tags=b",
        ])
        .await;
    let inside = rig
        .run(&["call", "SERVER", "deploy", "to=staging", "replicas=1", "labels.team.name=x"])
        .await;

    assert_eq!((ran.code, inside.code), (Some(0), Some(0)), "{ran:?} {inside:?}");
    assert_eq!(
        rig.mcp.runs()[0].arguments,
        json!({"to": "staging", "replicas": 2, "note": "# 12\n", "labels": {"team": "blue"},
               "tags": ["a", "b"]})
    );
    assert_eq!(rig.mcp.runs()[1].arguments["labels"], json!({"team": {"name": "x"}}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_not_there_is_told_before_the_server_is_asked() {
    let rig = Rig::new().await;

    let ran = rig.run(&["call", "SERVER", "echo", "msg=@nowhere.txt"]).await;

    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("`msg=@nowhere.txt` cannot be read: No such file"), "{ran:?}");
    assert_eq!(rig.mcp.executions("echo"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_no_schema_knows_is_sent_with_a_warning() {
    let rig = Rig::new().await;

    let ran = rig.run(&["call", "SERVER", "echo", "msg=hi", "volume=1"]).await;

    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "hi\n"), "{ran:?}");
    let warning = "warning: `volume` is not known; known are msg; typed: `volume=1`; it is sent all the same\n";
    assert!(ran.err.contains(warning), "{ran:?}");
    assert_eq!(rig.mcp.runs()[0].arguments, json!({"msg": "hi", "volume": 1}));
}

/// The call once ran without the argument, and the warning came too late.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slip_in_the_name_of_an_optional_argument_is_told_before_the_call() {
    let rig = Rig::new().await;

    let slip = rig.run(&["call", "SERVER", "echo", "mgs=hi"]).await;
    let runs = rig.mcp.executions("echo");
    let meant = rig.run(&["call", "SERVER", "echo", "mgs=hi", "--unchecked"]).await;

    assert_eq!((slip.code, runs), (Some(2), 0), "{slip:?}");
    let told = "`mgs` is not known (did you mean `msg`?); typed: `mgs=hi`; `--unchecked` sends it all the same\n";
    assert!(slip.err.contains(told), "{slip:?}");
    assert_eq!(meant.code, Some(0), "{meant:?}");
    assert_eq!(rig.mcp.runs()[0].arguments, json!({"mgs": "hi"}));
}

/// The tip was once `--answer`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_argument_that_is_typed_as_a_flag_is_told_how_to_type_it() {
    let rig = Rig::new().await;

    let apart = rig.run(&["call", "SERVER", "add", "--a", "1"]).await;
    let joined = rig.run(&["call", "SERVER", "add", "--a=1"]).await;
    let slip = rig.run(&["call", "SERVER", "add", "--tiemout", "1"]).await;

    for ran in [apart, joined] {
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains("an argument of the tool is typed as `a=1`"), "{ran:?}");
        assert!(!ran.err.contains("--answer"), "{ran:?}");
    }
    assert!(slip.err.contains("'--timeout'"), "{slip:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commas_are_no_way_to_type_a_list_and_the_ways_are_told() {
    let rig = Rig::new().await;
    let ids = json!({"type": "array", "items": {"type": "integer"}});
    let schema = json!({"type": "object", "properties": {"ids": ids}});
    rig.mcp.tools(json!([{"name": "pick", "inputSchema": schema}]));

    let ran = rig.run(&["call", "SERVER", "pick", "ids=1, 2,3"]).await;

    assert_eq!(ran.code, Some(2), "{ran:?}");
    let told = "several are typed as `ids=1 ids=2` or as JSON, `ids:='[...]'`";
    assert!(ran.err.contains(told), "{ran:?}");
}

/// `labels=a,b` once made one label of two.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commas_make_no_list_of_texts_and_one_text_with_a_comma_has_a_spelling() {
    let rig = Rig::new().await;
    let call = async |word: &str| {
        rig.run(&["call", "SERVER", "deploy", "to=staging", "replicas=1", word]).await
    };

    let joined = call("tags=a,b").await;
    let one = call(r#"tags:=["a,b"]"#).await;

    assert_eq!((joined.code, one.code), (Some(2), Some(0)), "{joined:?} {one:?}");
    for told in ["`tags=a tags=b`", r#"`tags:='["a,b"]'`"#, "typed: `tags=a,b`"] {
        assert!(joined.err.contains(told), "{told}: {joined:?}");
    }
    assert_eq!(rig.mcp.runs()[0].arguments["tags"], json!(["a,b"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_as_arguments_is_told_with_the_spelling_that_works() {
    let rig = Rig::new().await;
    rig.mcp.tools(json!([
        {"name": "assign", "inputSchema": {"type": "object", "properties": {
            "dry_run": {"type": "boolean"}, "maybe": {"type": "boolean"}}}},
        {"name": "add", "inputSchema": {"type": "object", "required": ["a", "b"],
            "properties": {"b": {"type": "number"}, "a": {"type": "number"}}}}]));

    for (words, told) in [
        (&["assign", r#"{"dry_run":true}"#, "maybe=yes"][..], "a JSON object stands alone"),
        (&["add", "1", "2"], "arguments are typed with their names: `a=1 b=2`"),
    ] {
        let ran = rig.run(&[&["call", "SERVER"], words].concat()).await;

        assert_eq!(ran.code, Some(2), "{words:?} {ran:?}");
        assert!(ran.err.contains(told), "{told}: {}", ran.err);
    }
    assert!(rig.mcp.runs().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_line_that_stops_half_way_is_told_how_it_goes_on() {
    let rig = Rig::new().await;

    for (words, told) in [
        (&["call", "SERVER"][..], format!("tip: `ridethrough tools {}` lists what", rig.url)),
        (&["read", "SERVER"], format!("tip: `ridethrough resources {}` lists", rig.url)),
        (&["prompt", "SERVER"], format!("tip: `ridethrough prompts {}` lists", rig.url)),
        (&["SERVER"], format!("`ridethrough tools {}` lists its tools", rig.url)),
    ] {
        let ran = rig.run(words).await;

        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains(&told), "{told}: {}", ran.err);
    }
}

/// The argument was once required, and yet reported as unknown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_required_is_known_though_nothing_else_is_said_of_it() {
    let rig = Rig::new().await;
    let schema =
        json!({"type": "object", "required": ["id"], "properties": {"n": {"type": "integer"}}});
    rig.mcp.tools(json!([{"name": "get", "inputSchema": schema}]));
    rig.answer("get", json!({"content": []}));

    let listed = rig.run(&["tools", "SERVER"]).await;
    let shown = rig.run(&["tools", "SERVER", "get"]).await;
    let missing = rig.run(&["call", "SERVER", "get"]).await;
    let called = rig.run(&["call", "SERVER", "get", "id=1"]).await;

    for ran in [&listed, &shown] {
        assert!(ran.out.contains("id=any value, required\n"), "{ran:?}");
    }
    assert!(missing.err.contains("`id` is missing: any value"), "{missing:?}");
    assert_eq!((called.code, called.err.as_str()), (Some(0), ""), "{called:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reference_of_a_schema_is_never_fetched() {
    let rig = Rig::new().await;
    let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let reference = format!("http://{}/schema.json", elsewhere.local_addr().unwrap());
    let schema = json!({"type": "object", "properties": {
        "a": {"$ref": reference}, "b": {"type": "integer"}}});
    rig.mcp.tools(json!([{"name": "heavy", "inputSchema": schema}]));
    rig.answer("heavy", json!({"content": []}));

    let shown = rig.run(&["tools", "SERVER", "heavy"]).await;
    let called = rig.run(&["call", "SERVER", "heavy", "a=1", "b=2"]).await;

    assert_eq!((shown.code, called.code), (Some(0), Some(0)), "{shown:?} {called:?}");
    // A client that had connected would wait there.
    let asked = elsewhere.accept().now_or_never();
    assert!(asked.is_none(), "{asked:?}");
}
