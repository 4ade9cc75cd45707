//! One server in a config file, whatever the file's format.
//!
//! All formats are read by one set of rules, because people paste entries from one into another: a `command`
//! is a local program, a `url` is a remote server, synonyms are accepted everywhere, and unknown keys are
//! ignored. An entry that is neither says why.

use std::ops::Range;

use ridethrough_terminal::near;
use secrecy::SecretString;

use crate::document::ConfigDocument;
use crate::document::tree::{Node, Value};

/// One server of a config file. Values that may be secrets are left out of its `Debug` output.
#[derive(Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The project that the entry is for, in a file with several projects.
    pub project: Option<String>,
    /// Whether the entry is one level down, so that another of its name may be above.
    is_nested: bool,
    pub(crate) is_disabled: bool,
    pub(crate) env: Vec<(String, SecretString)>,
    pub(crate) kind: EntryKind,
    /// The byte range of the whole entry.
    pub(crate) span: Range<usize>,
}

#[derive(Debug)]
pub(crate) enum EntryKind {
    Local(Local),
    Remote(Remote),
    /// Neither; this is the reason.
    Unknown(&'static str),
}

/// A program to start.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) command: PlacedText,
    pub(crate) args: Vec<PlacedText>,
    /// The byte range of the list of arguments, if there is one.
    pub(crate) args_span: Option<Range<usize>>,
    pub(crate) cwd: Option<String>,
}

/// A text and its byte range. Arguments too hold secrets.
#[derive(Debug)]
pub(crate) struct PlacedText {
    pub(crate) text: SecretString,
    pub(crate) span: Range<usize>,
}

/// A server at a URL.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) url: SecretString,
    pub(crate) transport: Transport,
    pub(crate) headers: Vec<(String, SecretString)>,
    /// Headers whose values are in the environment variables of these names.
    pub(crate) env_headers: Vec<(String, String)>,
    /// The variable that holds a bearer token.
    pub(crate) bearer_env: Option<String>,
    /// The keys that name the transport.
    pub(crate) kinds: Vec<String>,
    /// All other members, with the byte ranges of their values.
    pub(crate) rest: Vec<(String, Range<usize>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Http,
    /// HTTP+SSE, from before 2025-03-26.
    Sse,
    Unknown,
}

impl Entry {
    /// Whether both are at one place of a file, or of two versions of it.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let place = |it: &Self| (it.name.clone(), it.project.clone(), it.is_nested);
        place(self) == place(other)
    }
}

/// Returns all servers of a file, in its order.
pub(crate) fn entries(document: &ConfigDocument) -> Vec<Entry> {
    let root = &document.root;
    let mut entries = under(root, None);
    // VS Code's settings.json has them one level down.
    if let Some(nested) = root.get("mcp") {
        let nested = under(nested, None).into_iter();
        entries.extend(nested.map(|entry| Entry { is_nested: true, ..entry }));
    }
    // Claude Code keeps the servers of each project apart in `~/.claude.json`.
    for (project, node) in root.get("projects").map(Node::members).unwrap_or_default() {
        // Of a project that appears twice the last one counts.
        entries.retain(|entry| entry.project.as_ref() != Some(project));
        entries.extend(under(node, Some(project)));
    }
    entries
}

fn under(node: &Node, project: Option<&String>) -> Vec<Entry> {
    let tables = ROOTS.iter().filter_map(|key| node.get(key));
    let mut entries: Vec<Entry> = Vec::new();
    for (name, server) in tables.flat_map(Node::members) {
        // Of two servers with one name the last one counts.
        entries.retain(|entry| entry.name != *name);
        entries.push(entry(name, project, server));
    }
    entries
}

fn entry(name: &str, project: Option<&String>, node: &Node) -> Entry {
    let is_disabled = node.get("disabled").is_some_and(|it| it.is(true))
        || node.get("enabled").is_some_and(|it| it.is(false));
    Entry {
        name: name.to_owned(),
        project: project.cloned(),
        is_nested: false,
        is_disabled,
        env: secrets(node.get("env").or_else(|| started(node)?.get("env"))),
        kind: kind(node),
        span: node.span.clone(),
    }
}

fn kind(node: &Node) -> EntryKind {
    if !node.is_object() {
        return EntryKind::Unknown("it is not an object");
    }
    let url = URLS.iter().find_map(|key| node.get(key));
    match (node.get("command"), url) {
        (Some(_), Some(_)) => EntryKind::Unknown("it has both a `command` and a `url`"),
        (Some(command), None) => {
            local(node, command).map_or_else(EntryKind::Unknown, EntryKind::Local)
        }
        (None, Some(url)) => remote(node, url).map_or_else(EntryKind::Unknown, EntryKind::Remote),
        (None, None) => EntryKind::Unknown("it has neither a `command` nor a `url`"),
    }
}

/// Returns the object that starts a server. In older files of Zed it is nested in the entry.
fn started(node: &Node) -> Option<&Node> {
    node.get("command").filter(|it| it.is_object())
}

fn local(node: &Node, command: &Node) -> Result<Local, &'static str> {
    let (node, command) = match started(node) {
        Some(inner) => (inner, inner.get("path").ok_or("its `command` has no `path`")?),
        None => (node, command),
    };
    let command = word(command).ok_or("its `command` is not a text")?;
    let (args, args_span) = match node.get("args") {
        None => (Vec::new(), None),
        Some(Node { value: Value::Array(items), span, .. }) => {
            let args: Option<Vec<_>> = items.iter().map(word).collect();
            (args.ok_or("one of its `args` is not a text")?, Some(span.clone()))
        }
        Some(_) => return Err("its `args` are not a list"),
    };
    let cwd = node.get("cwd").and_then(Node::text).map(str::to_owned);
    Ok(Local { command, args, args_span, cwd })
}

fn remote(node: &Node, url: &Node) -> Result<Remote, &'static str> {
    let url = url.text().ok_or("its `url` is not a text")?;
    let transport = TYPES.iter().find_map(|key| node.get(key)).map_or(Some("http"), Node::text);
    let pairs = |key: &str| secrets(node.get(key));
    let mut headers = pairs("headers");
    headers.extend(pairs("http_headers"));
    let env_headers = node.get("env_http_headers").map(Node::members).unwrap_or_default();
    let env_headers = env_headers.iter();
    Ok(Remote {
        url: url.into(),
        transport: match transport.unwrap_or_default().to_ascii_lowercase().as_str() {
            "http" | "streamable-http" | "streamablehttp" | "streamable_http" => Transport::Http,
            "sse" => Transport::Sse,
            _ => Transport::Unknown,
        },
        headers,
        env_headers: env_headers
            .filter_map(|(name, it)| Some((name.clone(), it.word()?)))
            .collect(),
        bearer_env: node.get("bearer_token_env_var").and_then(Node::text).map(str::to_owned),
        kinds: keys(node, |key| TYPES.contains(&key)).map(|(key, _)| key).collect(),
        rest: keys(node, |key| {
            !KNOWN.contains(&key) && !TYPES.contains(&key) && !URLS.contains(&key)
        })
        .collect(),
    })
}

/// Returns the key that was perhaps meant by an unknown key of an entry.
pub(crate) fn meant_key(key: &str) -> Option<&'static str> {
    let of_hosts =
        || LOCAL.iter().chain(&URLS).chain(&KNOWN).chain(&TYPES).chain(&SWITCHES).copied();
    // Keys of hosts such as `alwaysAllow` resemble those of the gateway, and are not meant as one.
    if of_hosts().chain(GATEWAY_KEYS).any(|it| it == key) {
        return None;
    }
    near::nearest(key, of_hosts()).first().copied()
}

/// Returns the members for which the test is true, each once, and the byte ranges of their values.
fn keys(
    node: &Node,
    is_wanted: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (String, Range<usize>)> {
    let members = node.members();
    let is_last = |at: usize, key: &str| !members[at + 1..].iter().any(|(later, _)| later == key);
    let wanted = members
        .iter()
        .enumerate()
        .filter(move |(at, (key, _))| is_wanted(key) && is_last(*at, key));
    wanted.map(|(_, (key, it))| (key.clone(), it.span.clone()))
}

fn word(node: &Node) -> Option<PlacedText> {
    node.text().map(|text| PlacedText { text: text.into(), span: node.span.clone() })
}

/// Returns the names and values of an object; a value that is a list or an object is left out.
fn secrets(node: Option<&Node>) -> Vec<(String, SecretString)> {
    let members = node.map(Node::members).unwrap_or_default().iter();
    members.filter_map(|(name, it)| Some((name.clone(), it.word()?.into()))).collect()
}

/// The names of the table of servers: of most hosts, VS Code, Codex, Zed.
const ROOTS: [&str; 4] = ["mcpServers", "servers", "mcp_servers", "context_servers"];
const URLS: [&str; 3] = ["url", "serverUrl", "httpUrl"];
/// Other known keys of a server at a URL.
const KNOWN: [&str; 4] = ["headers", "http_headers", "env_http_headers", "bearer_token_env_var"];
const LOCAL: [&str; 4] = ["command", "args", "cwd", "env"];
const SWITCHES: [&str; 2] = ["disabled", "enabled"];
/// What only the gateway knows of a server.
pub(crate) const GATEWAY_KEYS: [&str; 15] = [
    "allow",
    "deny",
    "hide",
    "hints",
    "idle",
    "links",
    "pin",
    "places",
    "prefix",
    "queue",
    "read_only",
    "rename",
    "repeat",
    "share",
    "timeout_seconds",
];
const TYPES: [&str; 3] = ["type", "transport", "transportType"];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use secrecy::ExposeSecret;

    use super::*;

    fn read(name: &str, text: &str) -> Vec<Entry> {
        entries(&ConfigDocument::read(Path::new(name), text.into()).ok().unwrap())
    }

    fn one(server: &str) -> Entry {
        read("a.json", &format!(r#"{{"mcpServers":{{"it":{server}}}}}"#)).pop().unwrap()
    }

    #[test]
    fn servers_are_found_under_every_name_that_their_table_has() {
        let server = r#"{"url":"https://a.example/mcp"}"#;
        for root in ROOTS {
            assert_eq!(
                read("a.json", &format!(r#"{{"{root}":{{"x":{server}}}}}"#)).len(),
                1,
                "{root}"
            );
        }
        let settings = format!(r#"{{"mcp":{{"servers":{{"x":{server}}}}}}}"#);
        assert_eq!(read("settings.json", &settings).len(), 1);
        let projects =
            format!(r#"{{"projects":{{"/projects":{{"mcpServers":{{"x":{server}}}}}}}}}"#);
        assert_eq!(read(".claude.json", &projects)[0].project.as_deref(), Some("/projects"));
        assert_eq!(read("config.toml", "[mcp_servers.x]\nurl = 'https://a.example'\n").len(), 1);
    }

    #[test]
    fn what_makes_no_sense_says_why_and_does_not_hide_the_others() {
        let cases = [
            ("7", "it is not an object"),
            ("{}", "it has neither a `command` nor a `url`"),
            (r#"{"command":"a","url":"b"}"#, "it has both a `command` and a `url`"),
            (r#"{"command":7}"#, "its `command` is not a text"),
            (r#"{"command":"a","args":"b"}"#, "its `args` are not a list"),
            (r#"{"command":"a","args":[1]}"#, "one of its `args` is not a text"),
            (r#"{"url":[]}"#, "its `url` is not a text"),
        ];
        for (server, why) in cases {
            let EntryKind::Unknown(said) = one(server).kind else { panic!("{server}") };

            assert_eq!(said, why);
        }
    }

    #[test]
    fn synonyms_are_taken_for_each_other() {
        let transport = |server: &str| match one(server).kind {
            EntryKind::Remote(remote) => remote.transport,
            _ => panic!("{server}"),
        };

        assert_eq!(transport(r#"{"serverUrl":"https://a.example"}"#), Transport::Http);
        assert_eq!(transport(r#"{"url":"u","type":"streamableHttp"}"#), Transport::Http);
        assert_eq!(transport(r#"{"url":"u","transport":"sse"}"#), Transport::Sse);
        assert_eq!(transport(r#"{"url":"u","type":"websocket"}"#), Transport::Unknown);
        assert!(one(r#"{"command":"a","disabled":true}"#).is_disabled);
        assert!(one(r#"{"command":"a","enabled":false}"#).is_disabled);
    }

    #[test]
    fn zed_may_have_all_that_starts_a_server_in_an_object() {
        let entry = one(
            r#"{"source":"custom","command":{"path":"npx","args":["mcp-remote","U"],"env":{"A":"b"}}}"#,
        );

        let EntryKind::Local(local) = &entry.kind else { panic!("{entry:?}") };
        assert_eq!(local.command.text.expose_secret(), "npx");
        assert_eq!((local.args.len(), &*entry.env[0].0), (2, "A"));
        let broken = one(r#"{"command":{"args":[]}}"#);
        assert!(matches!(broken.kind, EntryKind::Unknown("its `command` has no `path`")));
    }

    #[test]
    fn secrets_do_not_print_themselves() {
        let entry =
            one(r#"{"command":"x","args":["--key","s3cret"],"env":{"KEY":"s3cret","PORT":80}}"#);
        let remote = one(r#"{"url":"https://a.example/s3cret","headers":{"K":"s3cret"}}"#);

        assert!(!format!("{entry:?} {remote:?}").contains("s3cret"));
        assert_eq!(entry.env[1].1.expose_secret(), "80");
    }
}
