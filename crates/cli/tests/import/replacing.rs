//! Other bridges are replaced by ours, and come back.

use std::fs;
use std::path::{Path, PathBuf};

use ridethrough_lab::Mcp;
use serde_json::Value;

use crate::rig::{Home, SETTINGS, err, listen, out, servers};

#[test]
fn every_file_in_its_usual_place_is_found_and_told_without_a_secret() {
    let home = Home::furnished();

    let plain = home.import(&["--offline"]);
    let json = home.import(&["--offline", "--json"]);

    assert_eq!(plain.status.code(), Some(0), "{plain:?}");
    let said = out(&plain);
    for words in [
        "Claude Desktop  ",
        "replace  weather: mcp-remote by `ridethrough bridge https://weather.example/...`, with Authorization",
        "replace  notes: mcp-remote by `ridethrough bridge https://notes.example/...`; needs no --keep-alive",
        "replace  tickets: mcp-remote by `ridethrough bridge https://tickets.example/...`",
        "left     files: it is a local program",
        "Codex  ",
        "could    search engine: https://search.example/..., with X-Key, Authorization: could go through `ridethrough bridge`, written by hand: a TOML file",
        "could    old: https://old.example/...: could go through `ridethrough bridge`: `ridethrough import --write --urls --only claude-code:old`",
        "left     odd: it has neither a `command` nor a `url`",
        "left     off: https://off.example/...: it is switched off",
        "could    old: https://old.example/...",
        "could    calendar (in /projects/blue): https://blue.calendar.example/..., with X-Key",
    ] {
        assert!(said.contains(words), "{words} is missing: {said}");
    }
    for output in [&plain, &json] {
        assert!(!out(output).contains("s3cret") && !err(output).contains("s3cret"), "{output:?}");
        assert!(!out(output).contains('\x1b'));
    }
    assert!(err(&plain).contains("hint: --write does it"), "{}", err(&plain));
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    let files = json["files"].as_array().unwrap();
    let hosts: Vec<_> = files.iter().map(|file| file["host"].as_str().unwrap()).collect();
    assert_eq!(
        hosts,
        [
            "claude-code",
            "cursor",
            "vscode",
            "claude-code",
            "claude-desktop",
            "codex",
            "copilot",
            "windsurf"
        ]
    );
    assert_eq!(files[1]["servers"][1]["dropped"][0], "--enable-proxy");
    assert_eq!(home.files(), Home::furnished().files(), "nothing was written");
}

#[test]
fn what_is_written_can_be_undone_to_the_byte() {
    let home = Home::furnished();
    let before = home.files();

    let written = home.import(&["--offline", "--write"]);
    let between = home.files();
    let again = home.import(&["--offline", "--write"]);
    let same = home.files();
    let undone = home.import(&["--undo"]);

    assert_eq!(written.status.code(), Some(0), "{written:?}");
    assert!(err(&written).contains("hint: `ridethrough import --undo` goes back"));
    assert_eq!(between.len(), before.len() * 2, "each has a backup");
    for (path, text) in &before {
        let backup = PathBuf::from(format!("{}.ridethrough-backup", path.display()));
        assert_eq!(between.iter().find(|(it, _)| *it == backup).unwrap().1, *text);
        let new = &between.iter().find(|(it, _)| it == path).unwrap().1;
        assert!(new.contains("\"bridge\"") && new != text, "{new}");
        let is_projects = path.starts_with("work");
        assert_eq!(new.contains("\"ridethrough\""), is_projects, "a project's has no path: {new}");
    }
    assert_eq!(again.status.code(), Some(0));
    assert_eq!(same, between, "the second time there is nothing to do");
    assert_eq!(undone.status.code(), Some(0), "{undone:?}");
    assert!(err(&undone).contains("10 servers restored"), "{}", err(&undone));
    assert_eq!(home.files(), before, "and no backup is left that says the same");
}

#[test]
fn only_the_named_server_is_written() {
    let home = Home::new();
    home.copy("claude-desktop/claude_desktop_config.json", "mine.json");

    let written =
        home.import(&["--offline", "--write", "--only", "notes", "--by-name", "mine.json"]);
    let unknown = home.import(&["--offline", "--only", "nobody", "mine.json"]);

    assert_eq!(written.status.code(), Some(0), "{written:?}");
    let text = home.read("mine.json");
    assert_eq!(text.matches("\"ridethrough\"").count(), 1, "{text}");
    assert!(text.contains("\"mcp-remote\",\n        \"https://weather.example"), "{text}");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(err(&unknown).contains("there is no server `nobody`"), "{}", err(&unknown));
}

/// A name alone means every server of that name.
#[test]
fn of_two_servers_of_one_name_that_of_one_host_can_be_meant() {
    let home = Home::new();
    let config = r#"{"mcpServers": {"shop": {"command": "npx", "args": ["mcp-remote", "https://a.example/mcp"]}}}"#;
    home.write("work/.mcp.json", config);
    home.write("work/.cursor/mcp.json", config);

    let written = home.import(&["--offline", "--write", "--only", "cursor:shop"]);
    let slip = home.import(&["--offline", "--only", "shpo"]);

    assert_eq!(written.status.code(), Some(0), "{written:?}");
    assert!(home.read("work/.cursor/mcp.json").contains("bridge"), "{written:?}");
    assert_eq!(home.read("work/.mcp.json"), config);
    assert!(err(&slip).contains("hint: did you mean `shop`?"), "{}", err(&slip));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_wants_authorization_stays_as_it_is() {
    let (open, closed, keyed) = (Mcp::new(), Mcp::new(), Mcp::new());
    closed.require_bearer(Some("other"));
    keyed.require_bearer(Some("s3cret"));
    let [open, closed, keyed] = [listen(&open).await, listen(&closed).await, listen(&keyed).await];
    let home = Home::new();
    let entry = |url: &str, more: &str| {
        format!(
            r#"{{"command":"npx","args":["-y","mcp-remote","{url}"{more}],"env":{{"T":"s3cret"}}}}"#
        )
    };
    let key = r#","--header","Authorization: Bearer ${T}""#;
    let text = format!(
        r#"{{"mcpServers":{{"open":{},"closed":{},"keyed":{},"gone":{}}}}}"#,
        entry(&open, ""),
        entry(&closed, ""),
        entry(&keyed, key),
        entry("http://127.0.0.1:1/", "")
    );
    home.write("mine.json", &text);

    let written = home.import(&["--write", "mine.json"]);

    assert_eq!(written.status.code(), Some(0), "{written:?}");
    let said = out(&written);
    assert!(said.contains("replace  open: ") && said.contains("replace  keyed: "), "{said}");
    assert!(said.contains("closed: ") && said.contains("it wants authorization"), "{said}");
    assert!(said.contains("gone: ") && said.contains("it could not be asked: "), "{said}");
    assert!(!said.contains("s3cret") && !err(&written).contains("s3cret"), "{written:?}");
    let (before, after) = (servers(&text), servers(&home.read("mine.json")));
    assert_eq!(after["closed"], before["closed"]);
    assert_eq!(after["gone"], before["gone"]);
    assert_eq!(after["open"]["args"][0], "bridge");
    assert_eq!(after["keyed"]["args"][0], "bridge");
}

/// A project may come from anywhere, and inspecting it must not send the values of the environment.
#[tokio::test(flavor = "multi_thread")]
async fn a_projects_file_gets_no_variable_unless_it_is_named() {
    let mcp = Mcp::new();
    let url = listen(&mcp).await;
    let home = Home::new();
    let text = format!(
        r#"{{"mcpServers":{{"it":{{"url":"{url}","headers":{{"X-Key":"${{MY_KEY}}"}}}}}}}}"#
    );
    home.write("work/.mcp.json", &text);

    let found = home.import(&[]);
    let asked_unnamed = mcp.log().len();
    let named = home.import(&[".mcp.json"]);

    assert!(out(&found).contains("unless you name the file"), "{}", out(&found));
    assert_eq!(asked_unnamed, 0);
    assert!(out(&named).contains("could    it: "), "{}", out(&named));
    assert_eq!(mcp.log()[0].header("x-key"), Some("k3y"));
    assert!(!out(&named).contains("k3y") && !err(&named).contains("k3y"));
}

#[test]
fn a_broken_file_is_told_by_line_and_column_and_does_not_stop_the_others() {
    let home = Home::furnished();
    home.write(".cursor/mcp.json", "{\n  \"mcpServers\": {\n    \"a\": s3cret\n  }\n}\n");
    home.write("work/.mcp.json", r#"{"mcpServers":{"a\u001b]0;b":{"command":"\u001b[2J"}}}"#);

    let run = home.import(&["--offline"]);
    let json = home.import(&["--offline", "--json"]);

    assert_eq!(run.status.code(), Some(1), "{run:?}");
    assert!(out(&run).contains("it is broken at line 3, column 10: "), "{}", out(&run));
    assert!(out(&run).contains("replace  weather: "), "{}", out(&run));
    assert!(!out(&run).contains("s3cret") && !out(&run).contains('\x1b'), "{}", out(&run));
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    let broken = json["files"].as_array().unwrap().iter().find(|it| it["broken"].is_object());
    assert_eq!(broken.unwrap()["broken"]["line"], 3);
}

#[test]
fn wrong_usage_and_nothing_to_do_are_told() {
    let home = Home::new();

    let missing = home.import(&["nowhere.json"]);
    let nothing = home.import(&[]);
    let no_backup = home.import(&["--undo"]);

    assert_eq!(missing.status.code(), Some(2));
    assert!(err(&missing).contains("there is no file nowhere.json"), "{}", err(&missing));
    assert_eq!(nothing.status.code(), Some(0));
    assert!(err(&nothing).contains("no config file of an MCP host was found"), "{}", err(&nothing));
    assert!(err(&no_backup).contains("0 servers restored"), "{}", err(&no_backup));
}

/// The command prints what it could do as another command, and that one does it.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_at_a_url_goes_through_the_bridge_if_that_is_asked_for_and_comes_back() {
    let mcp = Mcp::new();
    mcp.require_bearer(Some("s3cret"));
    let url = listen(&mcp).await;
    let home = Home::new();
    let text = format!(
        "{{\n  \"mcpServers\": {{\n    \"it\": {{\n      \"url\": \"{url}\",\n      \
         \"headers\": {{\"Authorization\": \"Bearer s3cret\"}}\n    }}\n  }}\n}}\n"
    );
    home.write("mine.json", &text);

    let offered = home.import(&["mine.json"]);
    let before = home.read("mine.json");
    let written = home.import(&["--write", "--urls", "--only", "it", "--by-name", "mine.json"]);
    let after = servers(&home.read("mine.json"));
    let undone = home.import(&["--undo", "mine.json"]);

    let command = "`ridethrough import --write --urls --only it ../mine.json`";
    assert!(out(&offered).contains(command), "{}", out(&offered));
    assert_eq!(before, text);
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    assert_eq!(after["it"]["command"], "ridethrough");
    let args = serde_json::json!(["bridge", url, "--bearer-env", "BEARER_TOKEN"]);
    assert_eq!(
        (&after["it"]["args"], &after["it"]["env"]["BEARER_TOKEN"]),
        (&args, &"s3cret".into())
    );
    assert!(!(out(&written) + &err(&written)).contains("s3cret"));
    assert_eq!(undone.status.code(), Some(0), "{undone:?}");
    assert_eq!(home.read("mine.json"), text);
}

#[test]
fn files_of_zed_gemini_and_claude_codes_own_folder_are_found_and_other_bridges_replaced() {
    let home = Home::new();
    let gateway = r#"["-y", "supergateway", "--streamableHttp", "https://g.example/mcp"]"#;
    home.write(
        &format!("{SETTINGS}/zed/settings.json"),
        &format!("// mine\n{{\"context_servers\": {{\"zed\": {{\"command\": {{\"path\": \"npx\", \"args\": {gateway}}}}},}}}}"),
    );
    home.write(
        ".gemini/settings.json",
        r#"{"mcpServers": {"gem": {"command": "uvx", "args": ["mcp-proxy", "--headers", "X-Key", "s3cret", "https://p.example/sse"]},
            "far": {"httpUrl": "https://far.example/mcp", "headers": {"X-Key": "$MY_KEY"}}}}"#,
    );
    home.write("work/.zed/settings.json", "{}");
    home.write(
        "claude/.claude.json",
        r#"{"mcpServers": {"mine": {"command": "npx", "args": ["-p", "mcp-remote", "mcp-remote", "https://m.example/mcp", "3334"]}}}"#,
    );

    let run = home.import(&["--offline", "--write"]);

    assert_eq!(run.status.code(), Some(0), "{run:?}");
    for words in [
        "Zed  ",
        "replace  zed: supergateway by `ridethrough bridge https://g.example/...`",
        "Gemini CLI  ",
        "replace  gem: mcp-proxy by `ridethrough bridge https://p.example/...`, with X-Key",
        "could    far: https://far.example/..., with X-Key",
        "Claude Code  ",
        "replace  mine: mcp-remote by `ridethrough bridge https://m.example/...`",
    ] {
        assert!(out(&run).contains(words), "{words}: {}", out(&run));
    }
    assert!(!out(&run).contains("s3cret"), "{}", out(&run));
    let gemini = home.read(".gemini/settings.json");
    assert!(
        gemini.contains(r#"["bridge", "https://p.example/sse", "--header", "X-Key: s3cret"]"#),
        "{gemini}"
    );
    let mine = servers(&home.read("claude/.claude.json"));
    let args = serde_json::json!(["bridge", "https://m.example/mcp", "3334"]);
    assert_eq!(mine["mine"]["args"], args, "the port for the browser stays");
}

const ONE: &str =
    r#"{"mcpServers":{"it":{"command":"npx","args":["-y","mcp-remote","https://a.example/mcp"]}}}"#;

/// A crash of an older version could leave an incomplete backup.
#[test]
fn an_undo_passes_over_a_backup_that_is_not_whole_and_takes_the_next() {
    let home = Home::new();
    home.write("mine.json", ONE);
    home.import(&["--offline", "--write", "mine.json"]);
    home.write("mine.json.ridethrough-backup-2", &ONE[..40]);

    let undone = home.import(&["--undo", "mine.json"]);

    assert_eq!(undone.status.code(), Some(0), "{undone:?}");
    assert_eq!(home.read("mine.json"), ONE);
    assert!(err(&undone).contains("mine.json.ridethrough-backup-2"), "{}", err(&undone));
    assert!(err(&undone).contains("passed over"), "{}", err(&undone));
}

#[test]
fn an_undo_that_discards_a_later_edit_keeps_a_copy_and_says_so() {
    let home = Home::new();
    home.write("mine.json", ONE);
    home.import(&["--offline", "--write", "--by-name", "mine.json"]);
    let edited = home.read("mine.json").replace("a.example/mcp\"", "a.example/mcp\",\"--debug\"");
    home.write("mine.json", &edited);

    let undone = home.import(&["--undo", "mine.json"]);

    assert_eq!(undone.status.code(), Some(0), "{undone:?}");
    assert_eq!(home.read("mine.json"), ONE);
    assert_eq!(home.read("mine.json.ridethrough-undone"), edited);
    assert!(out(&undone).contains("mine.json.ridethrough-undone"), "{}", out(&undone));
    let said = out(&undone) + &err(&undone);
    assert!(said.contains("changed since"), "{said}");
}

#[test]
fn an_undo_that_discards_nothing_leaves_no_copy() {
    let home = Home::new();
    home.write("mine.json", ONE);
    home.import(&["--offline", "--write", "mine.json"]);
    let edited = home.read("mine.json").replace("{\"mcpServers\"", "{\"theme\":1,\"mcpServers\"");
    home.write("mine.json", &edited);

    home.import(&["--undo", "mine.json"]);

    assert_eq!(
        home.read("mine.json"),
        ONE.replace("{\"mcpServers\"", "{\"theme\":1,\"mcpServers\"")
    );
    assert!(!home.0.join("mine.json.ridethrough-undone").exists());
}

/// `sudo ridethrough import` once made root the owner of a user's file.
#[test]
fn a_file_keeps_its_owner_and_mode_and_so_does_its_backup() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let home = Home::new();
    home.write("mine.json", ONE);
    let path = home.0.join("mine.json");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    // Only root may give a file away; any other user checks that nothing changes.
    let _ = chown(&path, Some(4711), Some(4712));
    let of = |path: &Path| {
        let it = fs::metadata(path).unwrap();
        (it.uid(), it.gid(), it.mode() & 0o7777)
    };
    let before = of(&path);

    home.import(&["--offline", "--write", "mine.json"]);
    let written = of(&path);
    let backup = of(&home.0.join("mine.json.ridethrough-backup"));
    home.import(&["--undo", "mine.json"]);

    assert_eq!((written, backup, of(&path)), (before, before, before));
}
