//! Names of tools as the gateway gives them, and cursors from page to page.

use std::collections::{BTreeMap, BTreeSet};

use ridethrough_gateway::{RehearsedTool, rehearse_cursor, rehearse_names, rehearse_place};

/// Checks that every tool has one short name of its own that leads back to it, whatever the servers and their
/// tools are called; that a cursor leads to the place for which it was written; and that what is read as a
/// cursor was written as one.
///
/// The first byte says which servers have a prefix. The first line is a cursor that a client might send. Each
/// line after it is a tool: a digit for its server, and its name.
pub fn names(input: &[u8]) {
    let Some((how, text)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let mut lines = text.lines();
    let foreign = lines.next().unwrap_or_default();
    if let Some(tool) = rehearse_cursor(foreign) {
        assert_eq!(rehearse_place(&tool), foreign, "another text is read as this cursor");
    }
    let tools: Vec<_> = lines.take(64).map(tool_of).collect();
    for tool in &tools {
        let read = rehearse_cursor(&rehearse_place(tool));
        assert_eq!(read.as_ref(), Some(tool), "a cursor leads elsewhere");
    }
    let has_prefix = |server: &str| {
        let place = NAMES.iter().position(|it| *it == server).unwrap_or(0);
        how >> place & 1 == 0
    };
    check(&tools, &rehearse_names(&tools, has_prefix));
}

fn tool_of(line: &str) -> RehearsedTool {
    let mut letters = line.chars();
    let place = letters.next().and_then(|it| it.to_digit(10)).unwrap_or(0);
    let server = NAMES[usize::try_from(place).unwrap_or(0) % NAMES.len()].to_owned();
    RehearsedTool { server, original: letters.as_str().to_owned() }
}

fn check(tools: &[RehearsedTool], given: &[(String, Option<RehearsedTool>)]) {
    let mut by_tool = BTreeMap::new();
    for (tool, (name, home)) in tools.iter().zip(given) {
        assert!(name.chars().count() <= 64, "`{name}` is too long");
        assert_eq!(home.as_ref(), Some(tool), "`{name}` leads elsewhere");
        let before = by_tool.insert(tool, name);
        assert!(before.is_none_or(|before| before == name), "a tool has two names");
    }
    let names: BTreeSet<_> = by_tool.values().collect();
    assert_eq!(names.len(), by_tool.len(), "two tools share a name");
}

/// Names whose prefixes can be confused, and one that hosts would not take.
const NAMES: [&str; 4] = ["a", "a_b", "b", "\u{e4} b"];
