//! Checks which bytes of config files are changed, and that no others are: on files as hosts have them, and
//! on random files.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::document::ConfigDocument;
use crate::rehearsal;

#[test]
fn in_every_format_only_the_words_that_start_mcp_remote_are_changed() {
    let cases: [(&str, &[(&str, &str)]); 8] = [
        (
            "claude-desktop/claude_desktop_config.json",
            &[
                (
                    "\"command\": \"npx\",\n      \"args\": [\n        \"-y\",\n        \"mcp-remote\",",
                    "\"command\": \"/bin/ridethrough\",\n      \"args\": [\n        \"bridge\",",
                ),
                ("\"/usr/local/bin/mcp-remote\"", "\"/bin/ridethrough\""),
                (
                    "\"npx\",\n      \"args\": [\"mcp-remote@latest\"",
                    "\"/bin/ridethrough\",\n      \"args\": [\"bridge\"",
                ),
                ("[\"https://notes.example", "[\"bridge\", \"https://notes.example"),
                ("\"--keep-alive\", ", ""),
            ],
        ),
        (
            "claude-code/.mcp.json",
            &[("\"bunx\",\"args\":[\"mcp-remote\"", "\"/bin/ridethrough\",\"args\":[\"bridge\"")],
        ),
        (
            "claude-code/.claude.json",
            &[(
                "\"npx\", \"args\": [\"mcp-remote\"",
                "\"/bin/ridethrough\", \"args\": [\"bridge\"",
            )],
        ),
        (
            "cursor/.cursor/mcp.json",
            &[
                (
                    "\"cmd\", \"args\": [\"/c\", \"npx\", \"-y\", \"mcp-remote\"",
                    "\"/bin/ridethrough\", \"args\": [\"bridge\"",
                ),
                ("\"--enable-proxy\", ", ""),
            ],
        ),
        (
            "vscode/.vscode/mcp.json",
            &[
                ("\"npx\", // needs Node", "\"/bin/ridethrough\", // needs Node"),
                ("\"-y\",\n        \"mcp-remote@0.1.29\"", "\"bridge\""),
            ],
        ),
        (
            "codex/config.toml",
            &[
                ("'npx'", "\"/bin/ridethrough\""),
                ("\"-y\",  # do not ask\n  \"mcp-remote\"", "\"bridge\""),
            ],
        ),
        (
            "windsurf/mcp_config.json",
            &[("\"npx\",\"args\":[\"mcp-remote\"", "\"/bin/ridethrough\",\"args\":[\"bridge\"")],
        ),
        (
            "copilot/mcp-config.json",
            &[
                ("\"npx\"", "\"/bin/ridethrough\""),
                ("\"-y\", \"mcp-remote\"", "\"bridge\""),
                ("\"--keep-alive\", \"--ping-interval\", \"60\", ", ""),
            ],
        ),
    ];
    for (file, changes) in cases {
        let (path, text) = fixture(file);
        let mut expected = text.clone();
        for (before, after) in changes {
            assert_eq!(expected.matches(before).count(), 1, "{file}: {before}");
            expected = expected.replace(before, after);
        }

        let written = rewritten(&path, &text);

        assert_eq!(written, expected, "{file}");
        assert_eq!(undone(&path, &written, &text), text, "{file}");
        assert_eq!(rewritten(&path, &written), written, "{file}: a second time changes nothing");
    }
}

#[test]
fn the_way_back_keeps_what_was_changed_meanwhile() {
    let (path, text) = fixture("cursor/.cursor/mcp.json");
    let written = rewritten(&path, &text);
    let edited = written.replace("https://search.example/mcp", "https://new.example/mcp");

    let back = undone(&path, &edited, &text);

    assert_eq!(back, text.replace("https://search.example/mcp", "https://new.example/mcp"));
}

#[test]
fn servers_of_one_name_in_several_tables_each_go_back_to_their_own_words() {
    let server =
        |at: u8| format!(r#"{{"command":"npx","args":["mcp-remote","https://a.example/{at}"]}}"#);
    let text = format!(
        r#"{{"mcpServers":{{"a":{}}},"mcp":{{"servers":{{"a":{}}}}},
        "projects":{{"/w":{{"mcpServers":{{"a":{}}}}},"/w":{{"mcpServers":{{"a":{}}}}}}}}}"#,
        server(1),
        server(2),
        server(3),
        server(4)
    );
    let path = Path::new("settings.json");

    let written = rewritten(path, &text);

    assert_eq!(written.matches("/bin/ridethrough").count(), 3, "hosts see one of two projects");
    assert_eq!(undone(path, &written, &text), text);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_a_file_looks_like_only_the_words_that_start_mcp_remote_are_changed(
        pieces in file()
    ) {
        let before: String = pieces.iter().map(|(before, _)| before.as_str()).collect();
        let after: String = pieces.iter().map(|(_, after)| after.as_str()).collect();
        let path = Path::new("mcp.json");

        let written = rewritten(path, &before);

        prop_assert_eq!(&written, &after);
        prop_assert_eq!(undone(path, &written, &before), before);
    }

    #[test]
    fn no_damage_to_a_file_makes_more_than_an_error(
        which in 0..FIXTURES.len(), at in any::<prop::sample::Index>(), cut in 0..40_usize,
        put in prop::collection::vec(any::<u8>(), 0..4)
    ) {
        let (path, text) = fixture(FIXTURES[which]);
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        let end = bytes.len().min(at + cut);
        bytes.splice(at..end, put);

        match ConfigDocument::read(&path, bytes) {
            Ok(document) => {
                let text = document.text;
                prop_assert_eq!(undone(&path, &rewritten(&path, &text), &text), text);
            }
            Err(broken) => {
                prop_assert!(broken.line > 0 && broken.column > 0);
                prop_assert!(!broken.to_string().contains("s3cret"));
            }
        }
    }
}

/// A part of a file before and after the import.
type Piece = (String, String);

/// Generates files with comments, odd spaces and other things around servers of all kinds.
fn file() -> impl Strategy<Value = Vec<Piece>> {
    let servers = prop::collection::vec((server(), gap(), "[a-z\u{e4}]{0,4}"), 0..5);
    (gap(), servers, gap()).prop_map(|(head, servers, tail)| {
        let mut pieces = vec![same(&format!("{head}{{\"x\":[1,{{}}],{head}\"mcpServers\":{{"))];
        for (number, (server, gap, name)) in servers.into_iter().enumerate() {
            pieces.push(same(&format!("{gap}\"{name}\\u00e9{number}\":{gap}")));
            pieces.extend(server);
            pieces.push(same(&format!("{gap},")));
        }
        pieces.push(same(&format!("}}{tail}}}{tail}")));
        pieces
    })
}

fn server() -> impl Strategy<Value = Vec<Piece>> {
    let others = prop::sample::select(vec![
        "7",
        "{}",
        r#"{"url":"https://a.example/mcp"}"#,
        r#"{"command":"npx","args":["-y","server"]}"#,
        r#"{"command":"npx","args":["mcp-remote","https://a.example/","--protocol","auto"]}"#,
    ]);
    prop_oneof![others.prop_map(|text| vec![same(text)]), bridged()]
}

/// Generates a server that is to be changed.
fn bridged() -> impl Strategy<Value = Vec<Piece>> {
    let starts = prop::sample::select(vec![
        ("npx", vec!["mcp-remote"]),
        ("npx.cmd", vec!["-y", "mcp-remote@1.2.3"]),
        ("cmd", vec!["/c", "npx", "--yes", "mcp-remote"]),
        ("mcp-\\u0072emote", vec![]),
    ]);
    let flags = prop::sample::select(vec![
        "",
        r#","--debug""#,
        r#", "--header" , "A: ${B} \"c\"""#,
        r#","--ignore-tool","ä*""#,
    ]);
    (starts, flags, gap(), any::<bool>()).prop_map(
        |((command, args), flags, gap, is_args_first)| {
            let command = (format!("\"{command}\""), "\"/bin/ridethrough\"".to_owned());
            let words: Vec<_> = args.iter().map(|word| format!("\"{word}\"")).collect();
            let start = if words.is_empty() {
                (String::new(), "\"bridge\", ".to_owned())
            } else {
                (words.join(&format!("{gap},")), "\"bridge\"".to_owned())
            };
            let after = if words.is_empty() { String::new() } else { format!(",{gap}") };
            let url = same(&format!("{after}\"https://a.example/mcp\"{flags}{gap}]"));
            let first = same(&format!("\"command\"{gap}:"));
            let list = same(&format!("\"args\":{gap}[{gap}"));
            let between = same(&format!(",{gap}\"env\":{{\"K\":\"s3cret\"}},"));
            let mut pieces = vec![same("{")];
            if is_args_first {
                pieces.extend([list, start, url, between, first, command])
            } else {
                pieces.extend([first, command, between, list, start, url])
            }
            pieces.push(same("}"));
            pieces
        },
    )
}

fn gap() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", " ", "\n\t", "\r\n  ", " /* \"mcp-remote\", { */ ", "// npx ]\n"])
}

fn same(text: &str) -> Piece {
    (text.to_owned(), text.to_owned())
}

/// Returns the file after `import --write`.
fn rewritten(path: &Path, text: &str) -> String {
    rehearsal::written(&read(path, text), "/bin/ridethrough")
}

/// Returns the file after `import --undo`.
fn undone(path: &Path, text: &str, backup: &str) -> String {
    rehearsal::undone(path, &read(path, text), &read(path, backup))
}

fn read(path: &Path, text: &str) -> ConfigDocument {
    ConfigDocument::read(path, text.into()).unwrap_or_else(|why| panic!("{why}: {text}"))
}

fn fixture(name: &str) -> (PathBuf, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/configs").join(name);
    let text = fs::read_to_string(&path).unwrap();
    (path, text)
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 500,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(0x1dea),
        ..ProptestConfig::default()
    }
}

const FIXTURES: [&str; 8] = [
    "claude-desktop/claude_desktop_config.json",
    "claude-code/.mcp.json",
    "claude-code/.claude.json",
    "cursor/.cursor/mcp.json",
    "vscode/.vscode/mcp.json",
    "codex/config.toml",
    "windsurf/mcp_config.json",
    "copilot/mcp-config.json",
];
