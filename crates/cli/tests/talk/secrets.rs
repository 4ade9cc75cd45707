//! No secret is ever printed, and no words of a server reach a terminal unchanged.

use ridethrough_lab::{Mood, Times, When};
use serde_json::json;

use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_reach_the_server_and_nothing_that_is_printed() {
    let rig = Rig::new().await;
    rig.mcp.require_bearer(Some("s3cret-token"));
    rig.write(".config/ridethrough/ridethrough.toml", "header = [\"X-File: s3cret-file\"]\n");
    let variables = [
        ("TOKEN", "s3cret-token"),
        ("KEY", "s3cret-key"),
        ("RIDETHROUGH_HEADER", "X-Environment: s3cret-environment"),
    ];
    let run = async |words: &[&str]| {
        let secrets = ["--bearer-env", "TOKEN", "--header", "X-Flag: ${KEY}", "-vvv"];
        rig.run_with(&[words, &secrets].concat(), &variables).await
    };
    let server = format!("{}?key=s3cret-query", rig.url);

    let mut all = vec![
        run(&["ping", &server]).await,
        run(&["call", &server, "echo", "msg=hi"]).await,
        run(&["tools", &server, "--json"]).await,
        run(&["call", &server, "deploy"]).await,
    ];
    let sent = rig.mcp.log();
    rig.mcp.require_bearer(Some("another"));
    all.push(run(&["ping", &server, "--json"]).await);
    rig.server.set_mood(Mood::Down);
    all.push(run(&["ping", &server, "--policy", "never"]).await);

    let codes: Vec<_> = all.iter().map(|ran| ran.code.unwrap()).collect();
    assert_eq!(codes, [0, 0, 0, 2, 5, 4], "{all:?}");
    for ran in &all {
        assert!(!ran.err.is_empty(), "-vvv says something");
        assert!(!format!("{ran:?}").contains("s3cret"), "{ran:?}");
    }
    let header = |name: &str| sent[0].header(name).unwrap_or_default().to_owned();
    assert_eq!(header("x-flag"), "s3cret-key");
    assert_eq!(header("x-file"), "s3cret-file");
    assert_eq!(header("x-environment"), "s3cret-environment");
    assert!(sent[0].target.ends_with("key=s3cret-query"));
}

/// `tools` once printed a token that its server had put into a description.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_repeats_of_our_secrets_is_printed_by_no_command() {
    let said = "you sent s3cret-token, s3cret-key and /mcp?key=s3cret-query";

    nothing_repeated_is_printed(said, said, ["s3cret-token", "s3cret-key", "s3cret-query"]).await;
}

/// Such a token is still masked in the words of the server, though not in the names of members.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_repeats_of_secrets_that_are_words_is_printed_by_no_command() {
    let said = "you sent swordfish, sesame-open and /mcp?key=abracadabra";

    nothing_repeated_is_printed(said, "x", ["swordfish", "sesame-open", "abracadabra"]).await;
}

async fn nothing_repeated_is_printed(
    said: &'static str,
    member: &str,
    [token, key, query]: [&str; 3],
) {
    let rig = Rig::new().await;
    let server_says = json!({"name": said, "title": said, "description": said, "uri": said});
    let schema = json!({"type": "object", "properties": {
        member: {"description": said}, "y": {"enum": [said], "default": said}}});
    rig.mcp
        .initialize_result(json!({"capabilities": {"tools": {}, "resources": {}, "prompts": {}},
        "serverInfo": {"name": said, "version": "1"}}));
    rig.mcp.tools(json!([{"name": "echo", "description": said, "inputSchema": schema}]));
    rig.rule(When::method("resources/list"), json!({"resources": [server_says]}));
    rig.rule(
        When::method("prompts/list"),
        json!({"prompts": [{"name": "greet", "description": said}]}),
    );
    let content = json!([{"type": "text", "text": said}]);
    rig.rule(When::tool("echo"), json!({"content": content}));
    rig.rule(When::method("resources/read"), json!({"contents": [{"uri": "a:b", "text": said}]}));
    rig.rule(
        When::method("prompts/get"),
        json!({"messages": [{"role": "user", "content": content[0]}]}),
    );
    rig.mcp.rule(When::method("ping"), Times::Always, move |ask| async move {
        // This error repeats the secrets in the escapes of JSON.
        let error = String::from_utf8(ask.error(-32000, said).to_vec()).unwrap();
        let error = error.replace("s3cret", "\\u00733cr\\u0065t").replace("sword", "sw\\u006frd");
        ask.json(error).await;
    });
    let server = format!("{}?key={query}", rig.url);
    let secrets = ["--bearer-env", "TOKEN", "--header", "X-Key: ${KEY}", "-vv"];
    let variables = [("TOKEN", token), ("KEY", key)];

    for words in [
        &["tools", &server][..],
        &["tools", &server, "echo"],
        &["resources", &server],
        &["prompts", &server],
        &["call", &server, "echo"],
        &["call", &server, "echo", "y=1"],
        &["call", &server, "nothing"],
        &["read", &server, "a:b"],
        &["prompt", &server, "greet"],
        &["ping", &server],
        &["check", &server],
        &["watch", &server, "--for", "0.1"],
    ] {
        for json in [&[][..], &["--json"]] {
            let ran = rig.run_with(&[words, json, &secrets].concat(), &variables).await;

            let printed = format!("{}{}", ran.out, ran.err);
            for secret in [token, key, query] {
                assert!(!printed.contains(secret), "{words:?} {json:?} {printed}");
            }
            let is_quoted = printed.contains("you sent ..., ... and /mcp?...");
            // A check prints its own verdict on tools, and not their descriptions.
            assert!(
                is_quoted || words[1] == "nothing" || words[0] == "call",
                "{words:?} {printed}"
            );
        }
    }
}

/// The error once read "the token is ... or too old", and a program found no `title` in the list.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_a_word_blots_out_neither_words_of_ours_nor_names_of_members() {
    let rig = Rig::new().await;
    rig.mcp.tools(json!([{"name": "echo", "title": "a title", "inputSchema": {"type": "object"}}]));
    let words = |command| [command, "SERVER", "--bearer-env", "TOKEN", "--json"];

    let listed = rig.run_with(&words("tools"), &[("TOKEN", "title")]).await;
    rig.mcp.require_bearer(Some("right"));
    let checked = rig.run_with(&words("check"), &[("TOKEN", "wrong")]).await;
    let refused = rig.run_with(&words("tools"), &[("TOKEN", "unauthorized")]).await;

    assert_eq!(listed.json()["tools"][0]["title"], "a ...", "{listed:?}");
    assert!(checked.json()["advice"][0].as_str().unwrap().contains("is wrong or"), "{checked:?}");
    assert_eq!(refused.json()["error"]["kind"], "unauthorized", "{refused:?}");
}

/// `?toolset=issues` is no secret, and a list of issues must stay one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_words_of_a_query_or_a_header_are_not_hidden() {
    let rig = Rig::new().await;
    rig.answer("echo", json!({"content": [{"type": "text", "text": "issues in production"}]}));
    let server = format!("{}?toolset=issues", rig.url);

    let ran = rig.run(&["call", &server, "echo", "--header", "X-Workspace: production"]).await;

    assert_eq!(ran.out, "issues in production\n", "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_goes_to_another_machine_in_the_clear_only_if_that_is_allowed() {
    let rig = Rig::new().await;
    let variables = [("TOKEN", "s3cret-token")];
    // This address is reserved for documentation, and no host has it.
    let server = "http://192.0.2.1:9/mcp";
    for command in [&["tools", server][..], &["ping", server], &["check", server]] {
        let limits = ["--timeout", "0.5", "--policy", "never"];
        let words = |more: &[&'static str]| [command, &limits, more].concat();

        let refused = rig.run_with(&words(&["--bearer-env", "TOKEN"]), &variables).await;
        let header = rig.run(&words(&["--header", "X-Key: s3cret"])).await;
        let plain = rig.run(&words(&[])).await;
        let allowed =
            rig.run_with(&words(&["--bearer-env", "TOKEN", "--allow-http"]), &variables).await;

        for refused in [refused, header] {
            assert_eq!(refused.code, Some(2), "{refused:?}");
            assert!(refused.err.contains("`--allow-http`"), "{refused:?}");
        }
        for tried in [plain, allowed] {
            assert!([Some(4), Some(7)].contains(&tried.code), "{tried:?}");
            assert!(
                tried.err.contains("warning: http://192.0.2.1:9/mcp is not encrypted"),
                "{tried:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_cannot_be_used_are_told_without_their_values() {
    let rig = Rig::new().await;

    for words in [
        &["--header", "s3cret"][..],
        &["--header", "X-Key: s3cret ${MISSING}"],
        &["--header", "Authorization: Basic s3cret\u{7}"],
        &["--header", "Authorization: Bearer s3cret", "--bearer-env", "TOKEN"],
        &["--header", "X-Key: s3cret\u{7}"],
        &["--bearer-env", "ghp_s3cret"],
    ] {
        let ran = rig.run(&[&["ping", "SERVER"], words].concat()).await;

        assert_eq!(ran.code, Some(2), "{words:?} {ran:?}");
        assert!(!ran.err.contains("s3cret"), "{ran:?}");
    }
    let ran = rig.run(&["ping", "http://me:s3cret@127.0.0.1:1/mcp"]).await;
    assert_eq!(ran.code, Some(2));
    assert!(!ran.err.contains("s3cret"), "{ran:?}");
    assert_eq!(rig.mcp.log().len(), 0, "nothing was sent");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_control_character_of_a_server_is_printed_where_people_read() {
    let rig = Rig::new().await;
    let nasty = "\u{1b}]0;pwned\u{7}\u{9b}2J\u{202e}\r";
    let named =
        |key: &str| json!({"name": nasty, "title": nasty, "description": nasty, key: nasty});
    let schema = json!({"type": "object", "required": [nasty],
        "properties": {nasty: {"type": nasty, "description": nasty}}});
    rig.mcp
        .initialize_result(json!({"capabilities": {"tools": {}, "resources": {}, "prompts": {}},
        "serverInfo": {"name": nasty, "version": "1"}}));
    rig.mcp.tools(json!([{"name": nasty, "description": nasty, "inputSchema": schema},
        {"name": "echo", "inputSchema": schema}, {"name": "put", "inputSchema": {}}]));
    rig.rule(When::method("resources/list"), json!({"resources": [named("uri")]}));
    rig.rule(
        When::method("resources/templates/list"),
        json!({"resourceTemplates": [named("uriTemplate")]}),
    );
    rig.rule(
        When::method("prompts/list"),
        json!({"prompts": [{"name": nasty, "description": nasty,
        "arguments": [named("x")]}, {"name": "greet"}]}),
    );
    let content = json!([{"type": "text", "text": nasty}, {"type": "image", "data": "aGk=", "mimeType": nasty},
        {"type": nasty}, {"type": "resource_link", "uri": nasty, "name": nasty}]);
    rig.rule(When::tool("put"), json!({"content": content}));
    rig.rule(
        When::method("resources/read"),
        json!({"contents": [{"uri": nasty, "text": nasty},
        {"uri": nasty, "blob": "aGk=", "mimeType": nasty}]}),
    );
    rig.rule(
        When::method("prompts/get"),
        json!({"messages": [{"role": "user", "content": content}]}),
    );
    rig.mcp.rule(When::method("ping"), Times::Always, move |ask| async move {
        let error = ask.error(-32000, nasty);
        ask.json(error).await;
    });

    for words in [
        &["tools", "SERVER"][..],
        &["resources", "SERVER"],
        &["prompts", "SERVER"],
        &["call", "SERVER", "put"],
        &["call", "SERVER", "echo"],
        &["call", "SERVER", "nothing"],
        &["read", "SERVER", "a:b"],
        &["prompt", "SERVER", "greet"],
        &["prompt", "SERVER", "nothing"],
        &["ping", "SERVER"],
        &["watch", "SERVER", "--for", "0.1"],
    ] {
        for json in [&[][..], &["--json"]] {
            let ran = rig.run(&[words, json, &["-vv"]].concat()).await;

            let said = format!("{}{}", ran.out, ran.err);
            assert!(said.contains("pwned"), "the test is about what is printed: {words:?} {ran:?}");
            let harmful = |it: char| (it.is_control() && it != '\n') || it == '\u{202e}';
            // The text of an answer goes to a pipe as it was sent, but not to a terminal.
            let is_raw = json.is_empty() && ran.code == Some(0) && !ran.out.is_empty();
            let is_raw = is_raw && ["put", "a:b", "greet"].contains(&words[words.len() - 1]);
            let said = if is_raw { ran.out.replace(nasty, "") + &ran.err } else { said };
            assert!(!said.contains(harmful), "{words:?} {json:?} {said:?}");
        }
    }
}
