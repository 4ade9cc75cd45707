//! Servers of hosts move to the gateway, and come back.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ridethrough_lab::Mcp;
use serde_json::{Value, json};

use crate::rig::{Home, SETTINGS, err, listen, out, servers};

/// Our own file of the user.
const OWN: &str = ".config/ridethrough/ridethrough.toml";

#[test]
fn each_host_has_one_entry_and_the_gateway_has_every_server_with_its_secrets() {
    let home = Home::furnished();

    let told = home.import(&["--gateway", "--offline"]);
    let before = home.files();
    let written = home.import(&["--gateway", "--offline", "--write", "--by-name"]);

    assert_eq!(told.status.code(), Some(0), "{told:?}");
    assert_eq!(before, Home::furnished().files(), "nothing is written unasked");
    let said = out(&told);
    for words in [
        "move     weather: https://weather.example/..., with Authorization",
        "move     files: a program",
        "left     calendar: it is switched off",
        "move     weather: https://weather.example/..., with X-Team; as `weather-codex`, since the name means another server; without startup_timeout_sec",
        "move     search engine: https://search.example/..., with X-Key, Authorization",
        "left     calendar (in /projects/blue): it is for one project only",
        "move     notes: https://notes.example/...; as `notes-windsurf`",
    ] {
        assert!(said.contains(words), "{words} is missing: {said}");
    }
    assert!(err(&told).contains("hint: --write does it"), "{}", err(&told));
    for output in [&told, &written] {
        assert!(!(out(output) + &err(output)).contains("s3cret"), "{output:?}");
    }
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    let desktop = home.read(&format!("{SETTINGS}/Claude/claude_desktop_config.json"));
    let entry = json!({"command": "ridethrough", "args": ["gateway", "--stdio"]});
    assert_eq!(servers(&desktop), json!({ "ridethrough": entry }), "{desktop}");
    assert!(desktop.starts_with("{\n  \"globalShortcut\": \"Ctrl+Space\",\n"), "{desktop}");
    let codex: toml::Table = home.read(".codex/config.toml").parse().unwrap();
    let names: Vec<_> = codex["mcp_servers"].as_table().unwrap().keys().collect();
    assert_eq!(names, ["calendar", "ridethrough"], "what is left stays");
    assert_eq!(codex["approval_policy"].as_str(), Some("on-request"));
    let copilot = servers(&home.read(".copilot/mcp-config.json"));
    assert_eq!(copilot["ridethrough"]["tools"], json!(["*"]));

    let own = home.read(OWN);
    let mode = fs::metadata(home.0.join(OWN)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it holds secrets");
    for words in ["Bearer s3cret-weather", "s3cret-query", "# do not ask", "bearer_token_env_var"] {
        assert!(own.contains(words), "{words} is missing: {own}");
    }
    let checked = home.run(&["gateway", "check"]);
    assert_eq!(checked.status.code(), Some(2), "a variable of Codex is not set");
    assert!(err(&checked).contains("`SEARCH_TOKEN`, which is not set"), "{}", err(&checked));
}

#[test]
fn what_was_moved_comes_back_to_the_byte_and_our_own_file_is_as_it_was() {
    for own in
        [None, Some("timeout = 5 # mine\n\n[servers.mine]\nurl = 'https://mine.example/mcp'")]
    {
        let home = Home::furnished();
        if let Some(own) = own {
            home.write(OWN, own);
        }
        let before = home.files();

        let written = home.import(&["--gateway", "--offline", "--write"]);
        let between = home.files();
        let again = home.import(&["--gateway", "--offline", "--write"]);
        let same = home.files();
        let undone = home.import(&["--undo"]);

        assert_eq!(written.status.code(), Some(0), "{written:?}");
        assert_ne!(between, before);
        assert_eq!(
            (again.status.code(), same),
            (Some(0), between),
            "a second time changes nothing"
        );
        assert_eq!(undone.status.code(), Some(0), "{undone:?}");
        assert_eq!(home.files(), before, "{undone:?}");
    }
}

#[test]
fn the_way_back_keeps_what_was_changed_meanwhile_in_the_host_and_in_our_file() {
    let home = Home::new();
    home.write(".cursor/mcp.json", CURSOR);
    home.import(&["--gateway", "--offline", "--write"]);
    let written = home.read(".cursor/mcp.json");
    home.write(".cursor/mcp.json", &written.replace("\"theme\": 1", "\"theme\": 2"));
    let own = home.read(OWN).replace("[servers.beta]\n", "[servers.beta]\nshare = 'all'\n");
    home.write(OWN, &own);

    let undone = home.import(&["--undo"]);

    assert_eq!(undone.status.code(), Some(0), "{undone:?}");
    let back: Value = serde_json::from_str(&home.read(".cursor/mcp.json")).unwrap();
    let mut expected: Value = serde_json::from_str(CURSOR).unwrap();
    expected["theme"] = json!(2);
    assert_eq!(back, expected);
    let left = home.read(OWN);
    assert!(left.contains("share = 'all'") && !left.contains("[servers.alpha]"), "{left}");
}

#[test]
fn comments_between_servers_stay_and_those_within_go_along() {
    let home = Home::new();
    let text = "// head\n{\n  \"servers\": {\n    // about alpha\n    \"alpha\": { \"url\": \"https://a.example/mcp\" /* in alpha */ }, // behind alpha\n    /* about beta */\n    \"beta\": {\n      \"command\": \"serve\", // in beta\n      \"args\": [\"--home\", \"${userHome}\", \"//x\"],\n    },\n    \"gamma\": { \"url\": \"https://${input:where}/\" },\n  },\n}\n";
    home.write("work/.vscode/mcp.json", text);

    let written = home.import(&["--gateway", "--offline", "--write", ".vscode/mcp.json"]);

    assert_eq!(written.status.code(), Some(0), "{written:?}");
    let said = out(&written);
    assert!(
        said.contains("left     gamma: its `url` needs `${input:where}`, which only the editor"),
        "{said}"
    );
    assert_eq!(
        home.read("work/.vscode/mcp.json"),
        "// head\n{\n  \"servers\": {\n    // about alpha\n    // behind alpha\n    /* about beta */\n    \"ridethrough\": {\n      \"type\": \"stdio\",\n      \"command\": \"ridethrough\",\n      \"args\": [\"gateway\",\"--stdio\"]\n    },\n    \"gamma\": { \"url\": \"https://${input:where}/\" },\n  },\n}\n"
    );
    assert_eq!(
        home.read(OWN),
        "# from VS Code, by `ridethrough import --gateway`\n# in alpha\n[servers.alpha]\nurl = \"https://a.example/mcp\"\n\n\
         # from VS Code, by `ridethrough import --gateway`\n# in beta\n[servers.beta]\ncommand = \"serve\"\nargs = [\"--home\", \"${HOME}\", \"//x\"]\n"
    );
}

/// A filter or a folder of a project that were lost would let a model do more than its owner wanted.
#[test]
fn filters_go_along_and_what_cannot_be_said_keeps_a_server_where_it_is() {
    let home = Home::new();
    let servers = json!({
        "few": {"command": "a", "includeTools": ["read"], "excludeTools": ["read_all"]},
        "hidden": {"command": "npx", "args": ["mcp-remote", "https://h.example/mcp", "--ignore-tool", "delete*"]},
        "literal": {"command": "a", "env": {"A": "${NOT_A_VARIABLE}"}},
        "none": {"command": "a", "tools": []},
        "proxied": {"command": "npx", "args": ["mcp-remote", "https://p.example/mcp"], "env": {"HTTPS_PROXY": "http://proxy"}},
        "read": {"command": "a", "envFile": ".env"},
    });
    home.write("claude_desktop_config.json", &json!({ "mcpServers": servers }).to_string());

    let told = home.import(&["--gateway", "--offline", "--write", "claude_desktop_config.json"]);

    let said = out(&told);
    for words in [
        "move     few: ",
        "move     hidden: ",
        "left     literal: a text in it is a variable for the gateway",
        "left     none: its `tools` lets no tool through",
        "left     proxied: its `HTTPS_PROXY` would have to be set for the whole gateway",
        "left     read: it has an `envFile`",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let own: toml::Table = home.read(OWN).parse().unwrap();
    let few = &own["servers"]["few"];
    assert_eq!(
        (few["allow"][0].as_str(), few["deny"][0].as_str()),
        (Some("read"), Some("read_all"))
    );
    assert_eq!(own["servers"]["hidden"]["deny"][0].as_str(), Some("delete*"));
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_may_share_a_gateway_by_its_url_and_its_token() {
    let (open, closed) = (Mcp::new(), Mcp::new());
    closed.require_bearer(Some("other"));
    let (open, closed) = (listen(&open).await, listen(&closed).await);
    let home = Home::new();
    let text =
        json!({"mcpServers": {"open": {"url": open}, "closed": {"url": closed}}}).to_string();
    home.write(".cursor/mcp.json", &text);

    let written = home.import(&["--gateway=http://127.0.0.1:8809/mcp", "--write"]);
    let entry = servers(&home.read(".cursor/mcp.json"));
    let undone = home.import(&["--undo"]);

    let said = out(&written) + &err(&written);
    assert!(said.contains("left     closed: it wants authorization"), "{said}");
    let token = home.read("ridethrough/gateway-token");
    let words = json!(["bridge", "http://127.0.0.1:8809/mcp", "--bearer-env", "GATEWAY_TOKEN"]);
    assert_eq!(entry["ridethrough"]["args"], words);
    assert_eq!(entry["ridethrough"]["env"]["GATEWAY_TOKEN"], token.trim());
    assert!(!said.contains(token.trim()), "{said}");
    assert_eq!(entry["closed"]["url"], closed);
    assert_eq!(undone.status.code(), Some(0), "{undone:?}");
    assert_eq!(home.read(".cursor/mcp.json"), text);
}

#[test]
fn a_config_is_made_of_the_files_of_hosts_only_after_a_yes() {
    let home = Home::furnished();
    let before = home.files();

    let unasked = home.run(&["gateway", "init"]);
    let unwritten = home.files();
    let made = home.run(&["gateway", "init", "--yes"]);
    let again = home.run(&["gateway", "init", "--yes"]);

    assert_eq!(unasked.status.code(), Some(2), "{unasked:?}");
    assert!(err(&unasked).contains("hint: `--yes` writes it without asking"), "{}", err(&unasked));
    assert!(out(&unasked).contains("move     files: a program"), "{}", out(&unasked));
    assert_eq!(unwritten, before);
    assert_eq!(made.status.code(), Some(0), "{made:?}");
    let own = home.read(OWN);
    assert!(
        own.contains("[servers.files]") && own.contains("[servers.\"search engine\"]"),
        "{own}"
    );
    let hosts = home.files().into_iter().filter(|(path, _)| !path.ends_with("ridethrough.toml"));
    assert_eq!(hosts.collect::<Vec<_>>(), before, "the hosts keep theirs");
    assert!(err(&again).contains("nothing to write"), "{}", err(&again));
    assert_eq!(home.read(OWN), own);
}

#[test]
fn a_broken_file_of_ours_is_told_and_nothing_is_written() {
    let home = Home::furnished();
    home.write(OWN, "[servers.a\n");
    let before = home.files();

    let refused = home.import(&["--gateway", "--offline", "--write"]);

    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(err(&refused).contains("cannot be added to: line 1"), "{}", err(&refused));
    assert_eq!(home.files(), before);
}

const CURSOR: &str = r#"{ "theme": 1, "mcpServers": { "alpha": {"url": "https://a.example/mcp"}, "beta": {"command": "b"}, "off": {"command": "c", "disabled": true} } }"#;
