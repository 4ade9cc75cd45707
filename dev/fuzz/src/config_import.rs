//! Config files of hosts, as `ridethrough import` reads and changes them.
//!
//! An input that begins with `#toml` is TOML. One that begins with the byte 255 becomes a file of words that
//! its bytes choose, because a fuzzer seldom writes JSON. Any other is JSON.

use std::path::Path;

use ridethrough_cli::rehearse;
use ridethrough_config::Rehearsal;

/// Checks that what is written can be read, leads to the servers of the original, is not changed by a second
/// import, and can be undone to the last byte; and that a file's contents reach a terminal only as text.
pub fn config_import(input: &[u8]) {
    let path =
        if input.starts_with(b"#toml") { "/project/config.toml" } else { "/project/.mcp.json" };
    let bytes = match input {
        [255, choices @ ..] => made_of(choices).into_bytes(),
        bytes => bytes.to_vec(),
    };
    let before = String::from_utf8(bytes.clone());
    match rehearse(Path::new(path), bytes) {
        Ok((rehearsal, shown)) => {
            check(&rehearsal, &shown, &before.expect("only text can be read"))
        }
        Err(words) => assert!(words.starts_with("line "), "{words}"),
    }
}

fn check(rehearsal: &Rehearsal, shown: &str, before: &str) {
    let Rehearsal { written, written_again, undone, astray, .. } = rehearsal;
    assert!(astray.is_empty(), "{astray:?} would be reached otherwise:\n{before}\n{written}");
    assert_eq!(written_again, written, "a second time changes more");
    assert_eq!(undone, before, "the way back leads elsewhere");
    assert!(!shown.contains(|it: char| it.is_control() && it != '\n'), "it steers the terminal");
}

/// Returns a file with a server for each zero: the next byte chooses its table and name, the one after that
/// the program, and the others its arguments.
fn made_of(choices: &[u8]) -> String {
    let mut tables = TABLES.map(|_| Vec::new());
    // Each byte is a whole word, and a few of them are enough for every rule.
    let choices = &choices[..choices.len().min(32)];
    for server in choices.split(|choice| *choice == 0) {
        let (place, words) = server.split_first().unwrap_or((&0, &[]));
        tables[usize::from(place / 4) % TABLES.len()].push(entry(place % 4, words));
    }
    let tables = TABLES.iter().zip(tables).filter(|(_, servers)| !servers.is_empty());
    let tables =
        tables.map(|((open, close), servers)| format!("{open}{}{close}", servers.join(",")));
    format!("{{{}}}", tables.collect::<Vec<_>>().join(","))
}

fn entry(name: u8, words: &[u8]) -> String {
    let (command, args) = words.split_first().unwrap_or((&0, &[]));
    let word = |choice: &u8| {
        let gap = GAPS[usize::from(*choice) / WORDS.len() % GAPS.len()];
        format!("{gap}\"{}\"", WORDS[usize::from(*choice) % WORDS.len()])
    };
    let args: Vec<String> = args.iter().map(word).collect();
    format!("\"s{name}\":{{\"command\":{},\"args\":[{}]}}", word(command), args.join(","))
}

const TABLES: [(&str, &str); 5] = [
    ("\"mcpServers\":{", "}"),
    ("\"servers\":{", "}"),
    ("\"mcp\":{\"servers\":{", "}}"),
    ("\"projects\":{\"/work\":{\"mcpServers\":{", "}}}"),
    ("\"x\":[1,{}],\"mcp_servers\":{", "}"),
];
const GAPS: [&str; 3] = ["", "\n\t", " /* \"mcp-remote\", */ "];
const WORDS: [&str; 40] = [
    "npx",
    "mcp-remote",
    "-y",
    "https://a.example/mcp",
    "--header",
    "A: ${AB}",
    "Authorization: Bearer ${ABC:-d}",
    "--keep-alive",
    "--ipv4",
    "--ping-interval",
    "5",
    "--enable-proxy",
    "--body-timeout",
    "--disable-cookies",
    "--debug",
    "--silent",
    "--allow-http",
    "http://b.example/",
    "--transport",
    "http-only",
    "sse-first",
    "--header-file",
    "--bearer-env",
    "TOKENS",
    "--ignore-tool",
    "\\u00e4\\\"*",
    "cmd",
    "/c",
    "npx.cmd",
    "--yes",
    "mcp-remote@1.2.3",
    "bunx",
    "ridethrough",
    "bridge",
    "--timeout",
    "--connect-timeout",
    "--headers-timeout",
    "${URL}",
    "--resource",
    "--",
];
