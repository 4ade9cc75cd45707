//! Cursors and names without any server, for checks outside of this crate.

use super::cursor::Cursor;
use super::names::{Names, Owner};
use super::rules::{Prefix, Rules};

/// A tool of a server. It is for checks outside of this crate, and not part of the API.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RehearsedTool {
    /// The name of the server.
    pub server: String,
    /// The name that the server gives the tool.
    pub original: String,
}

/// Reads a cursor; `None` if it was not written here. It is for checks outside of this crate, and not part of
/// the API.
pub fn rehearse_cursor(text: &str) -> Option<RehearsedTool> {
    Cursor::read(text).map(|Cursor { server, original }| RehearsedTool { server, original })
}

/// Writes the cursor behind a tool. It is for checks outside of this crate, and not part of the API.
pub fn rehearse_place(tool: &RehearsedTool) -> String {
    let RehearsedTool { server, original } = tool.clone();
    Cursor { server, original }.write()
}

/// Returns the names that tools get which are listed in this order, each with the tool that it leads to. It is
/// for checks outside of this crate, and not part of the API.
pub fn rehearse_names(
    listed: &[RehearsedTool],
    has_prefix: impl Fn(&str) -> bool,
) -> Vec<(String, Option<RehearsedTool>)> {
    let mut names = Names::default();
    let given = listed.iter().map(|RehearsedTool { server, original }| {
        let prefix = if has_prefix(server) { Rules::default().prefix } else { Prefix::None };
        let rules = Rules { prefix, ..Rules::default() };
        let owner = Owner { server: server.as_str().into(), original: original.clone() };
        names.give(&owner, &rules.wanted_name(server, original)).0
    });
    let given: Vec<_> = given.collect();
    let home = |name: String| {
        let tool = names.owner(&name).map(|Owner { server, original }| RehearsedTool {
            server: server.to_string(),
            original: original.clone(),
        });
        (name, tool)
    };
    given.into_iter().map(home).collect()
}
