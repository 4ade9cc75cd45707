//! A config file as the gateway reads it: every server that it names, and what it says about its tools.
//!
//! A file of any host works as it is. What only the gateway knows stands beside what starts a server. Every
//! fault names the line and the column, and none repeats a value.

use std::path::Path;
use std::time::Duration;

use ridethrough::machine::hints::OperatorHints;
use ridethrough_core::{DoubtForm, DoubtRepeat};
use ridethrough_gateway::{Prefix, Rules, Share};

use crate::document::tree::{Node, Value};
use crate::gateway::access::GatewayAccess;
use crate::gateway::login::LoginOf;
use crate::gateway::reading::Reading;
use crate::hosts::Host;
use crate::hosts::entry::{Entry, EntryKind, meant_key};
use crate::hosts::file::{File, Trust, Unread};
use crate::hosts::line::ProgramLine;
use crate::hosts::reach::Reached;
use crate::hosts::{ConfigPlace, ConfigScope, Folders};
use crate::values::{DOUBT_FORMS, DOUBT_REPEATS};
use crate::{folders, values};

/// A config file of the gateway.
pub struct GatewayFile {
    /// The most processes of local servers at once.
    pub children: Option<usize>,
    /// Who may come in, and what they may.
    pub access: GatewayAccess,
    /// Where people's browsers find the gateway, if that is not where it listens.
    pub public_url: Option<String>,
    /// Whether a person who logs in for a principal must show its token.
    pub login_needs_token: bool,
    /// How callers are told that a call may have run.
    pub doubt: Option<DoubtForm>,
    /// What becomes of a repeat of such a call.
    pub doubt_repeat: Option<DoubtRepeat>,
    /// The servers.
    pub servers: Vec<GatewayServer>,
    /// The names of servers that are switched off.
    pub disabled: Vec<String>,
}

/// One server of it.
pub struct GatewayServer {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub reached: Reached,
    /// Which of its tools are there, and under which names.
    pub rules: Rules,
    /// Who shares a link to it.
    pub share: Option<Share>,
    /// Whose login is used there.
    pub login: LoginOf,
    /// How many calls it has at once.
    pub places: Option<usize>,
    /// How many calls wait.
    pub queue: Option<usize>,
    /// The most links.
    pub links: Option<usize>,
    /// How long a link without work stays.
    pub idle: Option<Duration>,
    /// How long a request may take.
    pub timeout: Option<Duration>,
    /// What its tools do.
    pub hints: OperatorHints,
}

/// Reads a config file for the gateway; or says everything that is wrong with it, each in a line.
pub fn read(path: &Path) -> Result<GatewayFile, Vec<String>> {
    let folders = Folders::here();
    let is_own = folders::users_file().is_some_and(|own| own == path);
    let place = if is_own {
        let (path, host) = (path.to_owned(), Host::Ridethrough);
        ConfigPlace { path, host, scope: ConfigScope::User }
    } else {
        Folders::named(path)
    };
    let file = File::read(place).map_err(|why| {
        vec![match why {
            Unread::Broken(broken) => broken.to_string(),
            Unread::Lost(error) => format!("it cannot be read: {error}"),
        }]
    })?;
    read_file(&file, &folders, Trust::Full)
}

/// Reads a file that is in memory.
pub(crate) fn read_file(
    file: &File,
    folders: &Folders,
    trust: Trust,
) -> Result<GatewayFile, Vec<String>> {
    let mut reading = Reading { file, trust, faults: Vec::new() };
    let read = reading.read(folders);
    if reading.faults.is_empty() { Ok(read) } else { Err(reading.faults) }
}

impl Reading<'_> {
    fn read(&mut self, folders: &Folders) -> GatewayFile {
        let file = self.file;
        let gateway = file.document.root.get("gateway");
        let mut read = GatewayFile {
            children: gateway.and_then(|it| self.number(it, "children", 1..=10_000)),
            access: self.access(gateway, file.place.path.parent()),
            public_url: self.public_url(gateway),
            login_needs_token: gateway.is_some_and(|it| self.flag(it, "login_needs_token")),
            doubt: gateway.and_then(|it| self.choice(it, "doubt", &DOUBT_FORMS)),
            doubt_repeat: gateway.and_then(|it| self.choice(it, "doubt_repeat", &DOUBT_REPEATS)),
            servers: Vec::new(),
            disabled: Vec::new(),
        };
        // Servers that a host keeps for one project are not for a gateway.
        for entry in file.entries.iter().filter(|it| it.project.is_none()) {
            if entry.is_disabled {
                read.disabled.push(entry.name.clone());
            } else {
                read.servers.extend(self.server(entry, folders));
            }
        }
        read
    }

    fn server(&mut self, entry: &Entry, folders: &Folders) -> Option<GatewayServer> {
        if entry.name.is_empty() || entry.name.chars().any(char::is_control) {
            self.fault(
                entry.span.start,
                "the name of a server is empty, or has control characters",
            );
            return None;
        }
        if let EntryKind::Unknown(why) = &entry.kind {
            self.fault(entry.span.start, &format!("server `{}`: {why}", entry.name));
            return None;
        }
        if is_gateway(entry) {
            let why = "it is the gateway itself, which would start itself without end";
            self.fault(entry.span.start, &format!("server `{}`: {why}", entry.name));
            return None;
        }
        let reached = match self.file.reach(entry, folders, self.trust) {
            Ok(reached) => reached,
            Err(why) => {
                self.fault(entry.span.start, &format!("server `{}`: {why}", entry.name));
                return None;
            }
        };
        let node = self.file.document.root.object_at(&entry.span)?;
        for (key, value) in node.members() {
            if let Some(meant) = meant_key(key) {
                let what = format!("`{key}` is not known; did you mean `{meant}`?");
                self.fault(value.span.start, &what);
            }
        }
        let (rules, share) = (self.rules(node), self.share(node));
        let login = self.login(node, &reached, share);
        Some(GatewayServer {
            name: entry.name.clone(),
            reached,
            rules,
            share,
            login,
            places: self.number(node, "places", 1..=10_000),
            queue: self.number(node, "queue", 0..=100_000),
            links: self.number(node, "links", 1..=10_000),
            idle: self.seconds(node, "idle"),
            // Hosts have a `timeout` too, some in seconds and some in milliseconds.
            timeout: self.seconds(node, "timeout_seconds"),
            hints: self.hints(node),
        })
    }

    fn rules(&mut self, node: &Node) -> Rules {
        let mut rules = Rules::default();
        match node.get("prefix") {
            None | Some(Node { value: Value::Flag(true), .. }) => {}
            Some(Node { value: Value::Flag(false), .. }) => rules.prefix = Prefix::None,
            Some(Node { value: Value::Text(text), .. }) => {
                rules.prefix = Prefix::Text(text.clone())
            }
            Some(other) => self.fault(other.span.start, "`prefix` must be a text, true or false"),
        }
        rules.allow = self.texts(node, "allow");
        rules.deny = self.texts(node, "deny");
        rules.hide = self.texts(node, "hide");
        rules.is_read_only = self.flag(node, "read_only");
        rules.is_pinned = self.flag(node, "pin");
        if let Some(renames) = node.get("rename") {
            if !renames.is_object() {
                self.fault(renames.span.start, "`rename` must be a table of new names");
            }
            for (old, new) in renames.members() {
                match new.text().filter(|it| !it.is_empty()) {
                    Some(new) => drop(rules.renames.insert(old.clone(), new.to_owned())),
                    None => self.fault(new.span.start, "a new name must be a text"),
                }
            }
        }
        rules
    }

    fn hints(&mut self, node: &Node) -> OperatorHints {
        let mut hints = OperatorHints::default();
        if let Some(table) = node.get("hints") {
            if !table.is_object() {
                self.fault(
                    table.span.start,
                    "`hints` must be a table, such as { \"get_*\" = \"read\" }",
                );
            }
            for (pattern, word) in table.members() {
                match word.text().and_then(values::hint_word) {
                    Some(hint) => hints.hint(pattern, hint),
                    None => self.fault(word.span.start, "a hint must be \"read\" or \"write\""),
                }
            }
        }
        self.texts(node, "repeat").into_iter().for_each(|pattern| hints.repeat(pattern));
        hints
    }

    fn share(&mut self, node: &Node) -> Option<Share> {
        let share = node.get("share")?;
        match share.text() {
            Some("all") => Some(Share::All),
            Some("session") => Some(Share::Session),
            Some("user") => Some(Share::User),
            _ => {
                let what = "`share` must be \"session\", \"user\" or \"all\"";
                self.fault(share.span.start, what);
                None
            }
        }
    }
}

/// Whether an entry starts the gateway.
fn is_gateway(entry: &Entry) -> bool {
    matches!(&entry.kind, EntryKind::Local(local) if ProgramLine::read(local) == ProgramLine::Gateway)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicU64, Ordering};

    use ridethrough::machine::ReplayRule;

    use super::*;

    #[test]
    fn a_pasted_file_works_as_it_is() {
        for (name, root) in [
            ("mcp.json", "mcpServers"),
            ("mcp.json", "servers"),
            ("settings.json", "context_servers"),
        ] {
            let text = format!(
                r#"{{ // mine
                  "{root}": {{
                    "files": {{"command": "npx", "args": ["-y", "server"], "env": {{"A": "b"}}}},
                    "web": {{"type": "http", "url": "https://a.example/mcp"}},
                    "off": {{"command": "x", "disabled": true}},
                  }}}}"#
            );

            let file = read(name, &text).unwrap();

            let names: Vec<_> = file.servers.iter().map(|it| it.name.as_str()).collect();
            assert_eq!(names, ["files", "web"], "{root}");
            assert!(matches!(file.servers[0].reached, Reached::Local(_)));
            assert_eq!(file.servers[1].rules, Rules::default());
            assert_eq!(file.disabled, ["off"]);
        }
    }

    #[test]
    fn what_only_the_gateway_knows_stands_beside_the_rest() {
        let file = read(
            "ridethrough.toml",
            "timeout = 2\n[gateway]\nchildren = 7\ndoubt = 'error'\ndoubt_repeat = 'allow'\n[servers.a]\nurl = 'https://a.example/mcp'\n\
             prefix = false\nallow = ['read*']\ndeny = ['x']\nhide = ['y']\nread_only = true\n\
             pin = true\nshare = 'all'\nplaces = 3\nqueue = 0\nlinks = 2\nidle = 60\ntimeout_seconds = 90\n\
             hints = { 'get_*' = 'read', 'get_and_drop' = 'write' }\nrepeat = ['put']\n\
             [servers.a.rename]\nold = 'new'\n",
        )
        .unwrap();

        let [server] = &file.servers[..] else { panic!("one server") };
        assert_eq!(file.children, Some(7));
        assert_eq!(file.doubt, Some(DoubtForm::Error));
        assert_eq!(file.doubt_repeat, Some(DoubtRepeat::Allow));
        assert_eq!(server.rules.prefix, Prefix::None);
        assert_eq!((&*server.rules.allow[0], &*server.rules.deny[0]), ("read*", "x"));
        assert!(server.rules.is_read_only && server.rules.is_pinned);
        assert_eq!(server.rules.renames["old"], "new");
        assert_eq!(server.share, Some(Share::All));
        assert_eq!((server.places, server.queue, server.links), (Some(3), Some(0), Some(2)));
        let rules = ["get_a", "get_and_drop", "put", "x"].map(|tool| server.hints.rule(tool));
        let [read, careful, repeat, unsaid] = rules;
        assert_eq!((read, repeat), (ReplayRule::Repeatable, ReplayRule::Repeatable));
        assert_eq!((careful, unsaid), (ReplayRule::Once, ReplayRule::ByNature));
        assert_eq!(server.idle, Some(Duration::from_secs(60)));
        assert_eq!(server.timeout, Some(Duration::from_secs(90)));
    }

    #[test]
    fn a_form_of_doubt_that_does_not_exist_is_a_fault_that_names_those_that_do() {
        let text = "[gateway]\ndoubt = 's3cret'\n[servers.a]\nurl = 'https://a.example/mcp'\n";

        let faults = read("ridethrough.toml", text).map(|_| ()).unwrap_err();

        assert_eq!(faults, ["line 2, column 9: `doubt` must be \"error\" or \"result\""]);
    }

    #[test]
    fn every_fault_has_its_line_and_its_column_and_no_value() {
        let text = "[servers.a]\nurl = 'https://a.example/mcp'\nshare = 's3cret'\nplaces = 's3cret'\n\
             allow = 's3cret'\n[servers.b]\ncomand = 's3cret'\n[servers.c]\nurl = 'https://c.example'\n\
             headrs = {}\n";

        let faults = read("ridethrough.toml", text).map(|_| ()).unwrap_err();

        assert_eq!(
            faults,
            [
                "line 5, column 9: `allow` must be a list of texts",
                "line 3, column 9: `share` must be \"session\", \"user\" or \"all\"",
                "line 4, column 10: `places` must be a number, 1 to 10000",
                "line 6, column 1: server `b`: it has neither a `command` nor a `url`",
                "line 10, column 10: `headrs` is not known; did you mean `headers`?",
            ]
        );
        let broken = read("mcp.json", "{\n  \"mcpServers\": {,}\n}").map(|_| ()).unwrap_err();
        assert!(broken[0].starts_with("line 2, column 18: "), "{broken:?}");
    }

    /// A host's file has the gateway as its one entry once `import --gateway` was there.
    #[test]
    fn a_gateway_is_never_a_server_of_its_own() {
        let text =
            r#"{"mcpServers":{"a":{"command":"/bin/ridethrough","args":["gateway","--stdio"]}}}"#;

        let faults = read("mcp.json", text).map(|_| ()).unwrap_err();

        assert!(faults[0].contains("server `a`: it is the gateway itself"), "{faults:?}");
    }

    #[test]
    fn variables_are_filled_in_as_the_host_of_the_file_writes_them() {
        let text = r#"{"mcpServers":{"a":{"url":"https://a.example/${NO_SUCH_VARIABLE_HERE}"}}}"#;

        let faults = read(".mcp.json", text).map(|_| ()).unwrap_err();

        assert_eq!(
            faults,
            [
                "line 1, column 20: server `a`: its `url` needs the variable `NO_SUCH_VARIABLE_HERE`, \
              which is not set"
            ]
        );
    }

    pub(crate) fn read(name: &str, text: &str) -> Result<GatewayFile, Vec<String>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = format!("ridethrough-gateway-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        let read = super::read(&path);
        fs::remove_dir_all(&folder).unwrap();
        read
    }
}
