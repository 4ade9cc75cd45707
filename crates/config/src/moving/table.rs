//! A server of a host as a table of our own config file.
//!
//! The table must lead to the same server by the same words: it is read back and compared before anything is
//! written. What cannot be said there keeps the server where it is.

use std::path::Path;

use ridethrough::transport::Endpoint;
use secrecy::{ExposeSecret, SecretString};

use crate::address;
use crate::document::ConfigDocument;
use crate::document::tree::{Node, Value};
use crate::hosts::Host;
use crate::hosts::entry::{Entry, EntryKind, GATEWAY_KEYS, Local, Remote, Transport, entries};
use crate::hosts::file::File;
use crate::hosts::line::{FlagMeaning, ProgramLine, Request};
use crate::hosts::reach::{Reached, reach};
use crate::hosts::variables::{self, Dialect, VariableScope};
use crate::moving::words::{comments, key, quoted};
use crate::replacing::{EntryVerdict, plan};

/// A server as our own file has it. It holds secrets, so there is no `Debug`.
pub(crate) struct ServerTable {
    host: Host,
    comments: Vec<String>,
    /// Keys with their values in TOML.
    keys: Vec<(&'static str, String)>,
    /// Which tools may be called, as patterns.
    pub(crate) filters: Filters,
    /// How the server is reached, if every variable is set.
    pub(crate) reached: Reached,
    /// What its host says about the server and the gateway does not know.
    pub(crate) without: Vec<String>,
}

/// Patterns of tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filters {
    allow: Vec<String>,
    deny: Vec<String>,
}

impl ServerTable {
    /// Returns the table of a server, or why it stays where it is.
    pub(crate) fn of(file: &File, entry: &Entry) -> Result<Self, String> {
        if entry.is_disabled {
            return Err("it is switched off".to_owned());
        }
        if entry.project.is_some() {
            return Err("it is for one project only".to_owned());
        }
        let (host, node) = (file.place.host, file.document.root.object_at(&entry.span));
        let node = node.ok_or("it is not an object")?;
        let dialect = host.dialect();
        let mut table = Self {
            host,
            comments: comments(&file.document, &file.place.path, node),
            keys: keys(entry, dialect)?,
            filters: filters(node)?,
            reached: reached(entry, dialect).map_err(|why| why.to_string())?,
            without: without(node),
        };
        table.take_flags(entry)?;
        table.take_own_keys(node);
        table.check(entry, dialect)?;
        Ok(table)
    }

    /// Returns the lines of the table under this name.
    pub(crate) fn text(&self, name: &str) -> String {
        let mut text = format!("# from {}, by `ridethrough import --gateway`\n", self.host);
        for comment in &self.comments {
            text.extend(["# ", comment, "\n"]);
        }
        text.extend(["[servers.", &key(name), "]\n"]);
        for (key, value) in &self.keys {
            text.extend([key, " = ", value, "\n"]);
        }
        for (key, patterns) in [("allow", &self.filters.allow), ("deny", &self.filters.deny)] {
            if !patterns.is_empty() {
                text.extend([key, " = ", &list(patterns.iter().map(String::as_str)), "\n"]);
            }
        }
        text
    }

    /// Takes over what the flags of a bridge say beside the address.
    fn take_flags(&mut self, entry: &Entry) -> Result<(), String> {
        let EntryKind::Local(local) = &entry.kind else { return Ok(()) };
        let request = match ProgramLine::read(local) {
            ProgramLine::McpRemote(request) | ProgramLine::Ours(request) => request,
            ProgramLine::Other(_) => return network(entry),
            _ => return Ok(()),
        };
        network(entry)?;
        if let (ProgramLine::Ours(_), false) = (ProgramLine::read(local), request.strays.is_empty())
        {
            return Err("its bridge has an argument that is not known".to_owned());
        }
        self.filters.deny.extend(ignored(local, &request));
        let is_lost =
            |name: &str, meaning| meaning == FlagMeaning::Same && !UNDERSTOOD.contains(&name);
        let lost = request.flags.iter().filter(|it| is_lost(it.name, it.meaning));
        self.without.extend(lost.map(|it| it.name.to_owned()));
        Ok(())
    }

    /// Keeps what was already written for a gateway.
    fn take_own_keys(&mut self, node: &Node) {
        // Filters are read by themselves.
        let keys = GATEWAY_KEYS.into_iter().filter(|it| !["allow", "deny"].contains(it));
        for name in keys {
            if let Some(value) = node.get(name).and_then(toml) {
                self.keys.push((name, value));
                self.without.retain(|it| it != name);
            }
        }
    }

    /// Compares the table with the entry: whatever the variables are, both lead to one server.
    fn check(&self, entry: &Entry, dialect: Dialect) -> Result<(), String> {
        let text = self.text("it");
        let path = Path::new("ridethrough.toml");
        let document = ConfigDocument::read(path, text.into_bytes())
            .map_err(|_| "it cannot be written as TOML".to_owned())?;
        let read = entries(&document);
        let written = read.first().ok_or("it cannot be written as TOML")?;
        for is_set in [|_: &str| true, |name: &str| name.len().is_multiple_of(2)] {
            let old = reached_with(entry, dialect, is_set);
            let new = reached_with(written, Dialect::Shell, is_set);
            let is_same = match (old, new) {
                (Ok(old), Ok(new)) => old.is_same(&new),
                (Err(_), Err(_)) => true,
                _ => false,
            };
            if !is_same {
                return Err("a text in it is a variable for the gateway, and is none for its host"
                    .to_owned());
            }
        }
        match &self.reached {
            Reached::Remote(address)
                if !(address.headers.is_empty() && address.authorization.is_none())
                    && Endpoint::parse(address.url.expose_secret())
                        .is_ok_and(|it| !address::is_safe_from_listeners(&it)) =>
            {
                Err("a token or a header would go to it in the clear".to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl Filters {
    /// Reads the filters of a table that is there already.
    pub(crate) fn of(node: &Node) -> Self {
        let texts = |key| node.get(key).and_then(Node::texts).unwrap_or_default();
        Self { allow: texts("allow"), deny: texts("deny") }
    }
}

/// Returns the keys that say how the server is reached.
fn keys(entry: &Entry, dialect: Dialect) -> Result<Vec<(&'static str, String)>, String> {
    match &entry.kind {
        EntryKind::Unknown(why) => Err((*why).to_owned()),
        EntryKind::Local(local) => {
            if let ProgramLine::McpRemote(_) | ProgramLine::Other(_) = ProgramLine::read(local)
                && let EntryVerdict::Left(why) = plan::judge(entry, "ridethrough")
            {
                return Err(why);
            }
            started(entry, local, dialect)
        }
        EntryKind::Remote(remote) => addressed(remote, dialect),
    }
}

fn started(
    entry: &Entry,
    local: &Local,
    dialect: Dialect,
) -> Result<Vec<(&'static str, String)>, String> {
    let shell = |field: &str, text: &str| in_shell(field, text, dialect);
    let mut keys =
        vec![("command", quoted(&shell("command", local.command.text.expose_secret())?))];
    if !local.args.is_empty() {
        let args = local.args.iter().map(|it| shell("args", it.text.expose_secret()));
        let args = args.collect::<Result<Vec<_>, _>>()?;
        keys.push(("args", list(args.iter().map(String::as_str))));
    }
    if let Some(cwd) = &local.cwd {
        keys.push(("cwd", quoted(&shell("cwd", cwd)?)));
    }
    keys.extend(pairs("env", &entry.env, dialect)?);
    Ok(keys)
}

fn addressed(remote: &Remote, dialect: Dialect) -> Result<Vec<(&'static str, String)>, String> {
    let url = in_shell("url", remote.url.expose_secret(), dialect)?;
    let mut keys = vec![("url", quoted(&url))];
    match remote.transport {
        Transport::Http => {}
        Transport::Sse => keys.push(("type", quoted("sse"))),
        Transport::Unknown => return Err("its transport is not known".to_owned()),
    }
    keys.extend(pairs("headers", &remote.headers, dialect)?);
    let named =
        remote.env_headers.iter().map(|(name, it)| format!("{} = {}", key(name), quoted(it)));
    let named: Vec<_> = named.collect();
    if !named.is_empty() {
        keys.push(("env_http_headers", format!("{{ {} }}", named.join(", "))));
    }
    keys.extend(remote.bearer_env.iter().map(|it| ("bearer_token_env_var", quoted(it))));
    Ok(keys)
}

fn pairs(
    name: &'static str,
    pairs: &[(String, SecretString)],
    dialect: Dialect,
) -> Result<Option<(&'static str, String)>, String> {
    let pair = |(own, value): &(String, SecretString)| {
        let value = in_shell(&format!("{name}.{own}"), value.expose_secret(), dialect)?;
        Ok(format!("{} = {}", key(own), quoted(&value)))
    };
    let pairs = pairs.iter().map(pair).collect::<Result<Vec<_>, String>>()?;
    Ok((!pairs.is_empty()).then(|| (name, format!("{{ {} }}", pairs.join(", ")))))
}

fn in_shell(field: &str, text: &str, dialect: Dialect) -> Result<String, String> {
    variables::in_shell(text, dialect).map_err(|unfilled| format!("its `{field}` needs {unfilled}"))
}

/// Returns the tools that the host lets through or keeps away.
fn filters(node: &Node) -> Result<Filters, String> {
    let mut filters = Filters::of(node);
    for (name, is_allowed) in FILTERS {
        let Some(value) = node.get(name) else { continue };
        let names = value.texts().ok_or_else(|| format!("its `{name}` is no list of texts"))?;
        if !is_allowed {
            filters.deny.extend(names);
        } else if names.is_empty() {
            return Err(format!("its `{name}` lets no tool through"));
        } else if !names.iter().any(|it| it == "*") {
            filters.allow.extend(names);
        }
    }
    match node.get("envFile") {
        Some(_) => Err("it has an `envFile`, which the gateway does not read".to_owned()),
        None => Ok(filters),
    }
}

/// Returns the keys of an entry that the gateway does not know.
fn without(node: &Node) -> Vec<String> {
    let is_known = |key: &str| KNOWN.contains(&key) || FILTERS.iter().any(|(it, _)| *it == key);
    let keys = node.members().iter().map(|(key, _)| key.clone());
    keys.filter(|key| !is_known(key)).collect()
}

/// Refuses a bridge with a way of its own through the network: the gateway has one for all servers.
fn network(entry: &Entry) -> Result<(), String> {
    let is_network = |name: &str| NETWORK.contains(&name.to_ascii_uppercase().as_str());
    match entry.env.iter().find(|(name, _)| is_network(name)) {
        Some((name, _)) => Err(format!("its `{name}` would have to be set for the whole gateway")),
        None => Ok(()),
    }
}

/// Returns the tools that a bridge hides.
fn ignored<'a>(local: &'a Local, request: &'a Request) -> impl Iterator<Item = String> + 'a {
    let flags = request.flags.iter().filter(|flag| flag.name == "--ignore-tool");
    flags.filter_map(|flag| Some(local.args[flag.value?].text.expose_secret().to_owned()))
}

/// Returns how a server is reached if every variable is set.
pub(crate) fn reached(
    entry: &Entry,
    dialect: Dialect,
) -> Result<Reached, crate::hosts::reach::Unreached> {
    reached_with(entry, dialect, |_| true)
}

fn reached_with(
    entry: &Entry,
    dialect: Dialect,
    is_set: impl Fn(&str) -> bool,
) -> Result<Reached, crate::hosts::reach::Unreached> {
    let environment = |name: &str| match name {
        "HOME" => Some(HOME.to_owned()),
        name => is_set(name).then(|| format!("value-of-{name}")),
    };
    let home = Some(Path::new(HOME));
    // A file that it names is read: its headers are compared, and shown to nobody.
    let scope = VariableScope { environment: &environment, home, workspace: None, may_read: true };
    reach(entry, dialect, scope)
}

fn list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", texts.map(quoted).collect::<Vec<_>>().join(", "))
}

/// Returns a value in TOML; `None` if it cannot be written there.
fn toml(node: &Node) -> Option<String> {
    Some(match &node.value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(toml).collect::<Option<Vec<_>>>()?.join(", "))
        }
        Value::Flag(flag) => flag.to_string(),
        Value::Object(members) => {
            let member =
                |(name, it): &(String, Node)| Some(format!("{} = {}", key(name), toml(it)?));
            let members = members.iter().map(member).collect::<Option<Vec<_>>>()?;
            format!("{{ {} }}", members.join(", "))
        }
        Value::Other(word) => word.parse::<i64>().ok()?.to_string(),
        Value::Text(text) => quoted(text),
    })
}

/// A folder that stands for the user's own in comparisons.
const HOME: &str = "/home/somebody";
/// Lists of tools in the files of hosts, and whether what they name is let through.
const FILTERS: [(&str, bool); 6] = [
    ("disabledTools", false),
    ("disabled_tools", false),
    ("enabled_tools", true),
    ("excludeTools", false),
    ("includeTools", true),
    ("tools", true),
];
/// Keys that are taken over, or that mean nothing to a gateway.
const KNOWN: [&str; 20] = [
    "allow",
    "args",
    "bearer_token_env_var",
    "command",
    "cwd",
    "deny",
    "disabled",
    "enabled",
    "env",
    "env_http_headers",
    "headers",
    "httpUrl",
    "http_headers",
    "serverUrl",
    "source",
    "transport",
    "transportType",
    "type",
    "url",
    "description",
];
/// Flags of a bridge that the gateway understands, or that are about a bridge only.
const UNDERSTOOD: [&str; 12] = [
    "--allow-http",
    "--bearer-env",
    "--debug",
    "--header",
    "--header-file",
    "--ignore-tool",
    "--no-catalogue",
    "--profile",
    "--silent",
    "--transport",
    "--verbose",
    "-v",
];
/// Variables by which a bridge finds its way through the network.
const NETWORK: [&str; 7] = [
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];
