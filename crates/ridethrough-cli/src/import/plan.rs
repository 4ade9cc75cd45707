//! What would become of each server of a config file, and by which edits.
//!
//! Nothing is guessed: a line of `mcp-remote` is replaced only if our bridge gives every flag in it
//! the same meaning. All words here are free of secrets: names of headers and flags, never values.

use ridethrough::Endpoint;
use secrecy::ExposeSecret;

use super::document::Edit;
use super::entry::{Entry, Kind, Local, Transport};
use super::line::{Line, Meaning, Request};
use crate::target;

/// What would become of one server.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It goes through our bridge.
    Already,
    /// A remote server that its host speaks to itself.
    Could,
    /// It stays as it is, for this reason.
    Left(String),
    /// `mcp-remote` is replaced by our bridge.
    Replace(Replacement),
}

pub(super) struct Replacement {
    pub(super) edits: Vec<Edit>,
    /// Flags that our bridge does not need to be told.
    pub(super) dropped: Vec<&'static str>,
}

impl std::fmt::Debug for Replacement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replacement").field("dropped", &self.dropped).finish_non_exhaustive()
    }
}

/// Looks at one server; `program` is what its host would start for our bridge.
pub(super) fn judge(entry: &Entry, program: &str) -> Verdict {
    if entry.is_disabled {
        return left("it is switched off");
    }
    match &entry.kind {
        Kind::Unknown(why) => left(*why),
        Kind::Remote(remote) => match remote.transport {
            Transport::Http | Transport::Sse => Verdict::Could,
            Transport::Unknown => left("its transport is not known"),
        },
        Kind::Local(local) => match Line::read(local) {
            Line::Another(name) => left(format!("it goes through {name}, not through mcp-remote")),
            Line::Obscure => left("it starts mcp-remote in a way that is not taken apart here"),
            Line::Ours(_) => Verdict::Already,
            Line::Program => left("it is a local program"),
            Line::McpRemote(request) => match refusal(entry, local, &request) {
                Some(why) => left(why),
                None => Verdict::Replace(replacement(local, &request, program)),
            },
        },
    }
}

/// The URL of a server as it may be shown: without path and query, where keys stand.
pub(super) fn shown_url(entry: &Entry) -> Option<String> {
    let url = match &entry.kind {
        Kind::Remote(remote) => remote.url.expose_secret(),
        Kind::Local(local) => match Line::read(local) {
            Line::McpRemote(request) | Line::Ours(request) => text(local, request.url?),
            _ => return None,
        },
        Kind::Unknown(_) => return None,
    };
    Some(match Endpoint::parse(url) {
        Ok(endpoint) if endpoint.path() == "/" => endpoint.origin(),
        Ok(endpoint) => format!("{}/...", endpoint.origin()),
        Err(_) if url.contains("${") => "a URL with variables".to_owned(),
        Err(_) => "a URL that cannot be used".to_owned(),
    })
}

/// The names of all headers that a server is sent.
pub(super) fn header_names(entry: &Entry) -> Vec<String> {
    match &entry.kind {
        Kind::Remote(remote) => {
            let named = remote.headers.iter().map(|(name, _)| name);
            let variables = remote.env_headers.iter().map(|(name, _)| name);
            let bearer = remote.bearer_env.iter().map(|_| "Authorization".to_owned());
            named.chain(variables).cloned().chain(bearer).collect()
        }
        Kind::Local(local) => match Line::read(local) {
            Line::McpRemote(request) | Line::Ours(request) => {
                let headers = request.flags.iter().filter(|flag| flag.name == "--header");
                let lines = headers.filter_map(|flag| text(local, flag.value?).split_once(':'));
                lines.map(|(name, _)| name.trim().to_owned()).collect()
            }
            _ => Vec::new(),
        },
        Kind::Unknown(_) => Vec::new(),
    }
}

/// Why our bridge cannot take the place of this `mcp-remote`.
fn refusal(entry: &Entry, local: &Local, request: &Request) -> Option<String> {
    let named = |meaning: Meaning| -> Vec<_> {
        let flags = request.flags.iter().filter(|flag| flag.meaning == meaning);
        flags.map(|flag| format!("`{}`", flag.name)).collect()
    };
    let (oauth, missing) = (named(Meaning::OAuth), named(Meaning::Missing));
    let has_variable = |name: &str| entry.env.iter().any(|(own, _)| own == name);
    let values = |name: &'static str| {
        let flags = request.flags.iter().filter(move |flag| flag.name == name);
        flags.filter_map(|flag| Some(text(local, flag.value?)))
    };
    Some(match request {
        Request { url: None, .. } => "it names no URL".to_owned(),
        Request { strays, .. } if !strays.is_empty() => unknown(local, strays),
        Request { port: Some(_), .. } => {
            "it names a port for authorization by a browser, which is not there yet".to_owned()
        }
        _ if !oauth.is_empty() => {
            format!("{}: authorization by a browser is not there yet", oauth.join(", "))
        }
        _ if !missing.is_empty() => format!("our bridge has no {}", missing.join(", ")),
        _ if values("--transport").any(|it| !TRANSPORTS.contains(&it)) => {
            "its `--transport` is not known".to_owned()
        }
        _ if values("--header").any(|it| !it.contains(':')) => {
            "a `--header` has no colon".to_owned()
        }
        _ if has_variable("NODE_EXTRA_CA_CERTS") && !has_variable("SSL_CERT_FILE") => {
            "its certificates are named in NODE_EXTRA_CA_CERTS: name them in SSL_CERT_FILE too"
                .to_owned()
        }
        Request { url: Some(url), .. } => return bad_url(text(local, *url), request),
    })
}

fn bad_url(url: &str, request: &Request) -> Option<String> {
    if url.contains("${") {
        // What it will be, only its host knows.
        return None;
    }
    let endpoint = match Endpoint::parse(url) {
        Ok(endpoint) => endpoint,
        Err(error) => return Some(format!("its URL {error}")),
    };
    let is_allowed = request.flags.iter().any(|flag| flag.name == "--allow-http");
    let is_fine = target::is_safe_from_listeners(&endpoint) || is_allowed;
    (!is_fine).then(|| "its URL is plain http, and `--allow-http` is not there".to_owned())
}

/// Names strays if they look like flags: anything else may be a secret.
fn unknown(local: &Local, strays: &[usize]) -> String {
    let is_flag = |word: &&str| {
        let name = word.strip_prefix("--").unwrap_or_default();
        !name.is_empty() && name.chars().all(|it| it.is_ascii_lowercase() || it == '-')
    };
    let flags = strays.iter().map(|at| text(local, *at)).filter(is_flag);
    let flags: Vec<_> = flags.map(|flag| format!("`{flag}`")).collect();
    match flags.as_slice() {
        [] => "it has an argument that is not known".to_owned(),
        flags => format!("{} is not known", flags.join(", ")),
    }
}

/// The fewest edits: the program, the words that start `mcp-remote`, and flags that are not needed.
fn replacement(local: &Local, request: &Request, program: &str) -> Replacement {
    let (args, own) = (&local.args, request.own);
    let start = args[0].span.start;
    let bridge = match own.checked_sub(1) {
        None => Edit { span: start..start, text: "\"bridge\", ".to_owned() },
        Some(last) => Edit { span: start..args[last].span.end, text: "\"bridge\"".to_owned() },
    };
    let program = serde_json::Value::from(program).to_string();
    let mut edits = vec![Edit { span: local.command.span.clone(), text: program }, bridge];
    let mut dropped = Vec::new();
    // The first argument that stays: what is dropped before it goes with the comma behind, all else with
    // the comma in front. Two edits that took the same comma would overlap.
    let mut first = 0;
    for flag in request.flags.iter().filter(|flag| flag.meaning == Meaning::Needless) {
        let last = flag.value.unwrap_or(flag.at);
        let span = if flag.at == first {
            first = last + 1;
            // The URL comes later, so that there is a next one.
            args[flag.at].span.start..args[first].span.start
        } else {
            args[flag.at - 1].span.end..args[last].span.end
        };
        edits.push(Edit { span, text: String::new() });
        dropped.push(flag.name);
    }
    Replacement { edits, dropped }
}

fn text(local: &Local, at: usize) -> &str {
    local.args[at].text.expose_secret()
}

fn left(why: impl Into<String>) -> Verdict {
    Verdict::Left(why.into())
}

/// Our bridge finds out by itself which of them the server speaks.
const TRANSPORTS: [&str; 4] = ["http-first", "http-only", "sse-first", "sse-only"];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::document::Document;
    use super::super::entry::entries;
    use super::*;

    #[test]
    fn mcp_remote_becomes_our_bridge_and_its_own_arguments_keep_their_bytes() {
        let cases = [
            (r#""npx","args":["-y" , "mcp-remote", "U"]"#, r#""rt","args":["bridge", "U"]"#),
            (r#""mcp-remote","args":[ "U" ]"#, r#""rt","args":[ "bridge", "U" ]"#),
            (
                r#""npx","args":["mcp-remote@1","U", "--keep-alive", "--header",  "A: \u0062"]"#,
                r#""rt","args":["bridge","U", "--header",  "A: \u0062"]"#,
            ),
            (
                r#""mcp-remote","args":["--ipv4", "U", "--ping-interval", "5"]"#,
                r#""rt","args":["bridge", "U"]"#,
            ),
            (
                r#""mcp-remote","args":["--ipv4", "--ping-interval","5" , "U","--keep-alive"]"#,
                r#""rt","args":["bridge", "U"]"#,
            ),
            (r#""cmd","args":["/c","npx","-y","mcp-remote","U"]"#, r#""rt","args":["bridge","U"]"#),
        ];
        for (before, after) in cases {
            let whole = |it: &str| {
                let it = it.replace("\"U\"", "\"https://a.example/mcp\"");
                format!(r#"{{"mcpServers":{{"it":{{"command":{it}}}}}}}"#)
            };

            assert_eq!(replaced(&whole(before)), whole(after));
        }
    }

    #[test]
    fn what_our_bridge_would_do_otherwise_is_left_alone_and_the_reason_names_it() {
        let cases = [
            ("", "names no URL"),
            (r#","https://a.example/","9696""#, "a port for authorization"),
            (r#","https://a.example/","--resource","https://s3cret/""#, "`--resource`"),
            (r#","https://a.example/","--protocol","auto""#, "our bridge has no `--protocol`"),
            (r#","https://a.example/","--brand-new""#, "`--brand-new` is not known"),
            (r#","https://a.example/","s3cret""#, "an argument that is not known"),
            (r#","https://a.example/","--transport","s3cret""#, "`--transport` is not known"),
            (r#","https://a.example/","--header","s3cret""#, "no colon"),
            (r#","http://a.example/""#, "plain http"),
            (r#","ftp://a.example/""#, "must begin with http"),
        ];
        for (args, words) in cases {
            let Verdict::Left(why) = verdict(&remote(args)) else { panic!("{args}") };

            assert!(why.contains(words), "{why}");
            assert!(!why.contains("s3cret"), "{why}");
        }
        for args in [
            r#","http://localhost:8080/mcp""#,
            r#","http://[::1]/mcp""#,
            r#","http://a.example/","--allow-http""#,
            r#","${URL}""#,
            r#","https://a.example/","--transport","http-only""#,
            r#","https://a.example/sse","--transport","sse-first""#,
            r#","https://a.example/sse","--transport","sse-only""#,
        ] {
            assert!(matches!(verdict(&remote(args)), Verdict::Replace(_)), "{args}");
        }
    }

    #[test]
    fn all_other_servers_stay_as_they_are() {
        let left = |server: &str| matches!(verdict(server), Verdict::Left(_));

        assert!(left(r#"{"command":"uvx","args":["mcp-server-git"]}"#));
        assert!(left(r#"{"command":"uvx","args":["mcp-proxy","https://a.example/"]}"#));
        assert!(left(
            r#"{"command":"npx","args":["mcp-remote","https://a.example/"],"disabled":true}"#
        ));
        assert!(left(
            r#"{"command":"npx","args":["mcp-remote","https://a.example/"],
                "env":{"NODE_EXTRA_CA_CERTS":"/ca.pem"}}"#
        ));
        assert!(matches!(verdict(r#"{"url":"https://a.example/mcp"}"#), Verdict::Could));
        assert!(matches!(verdict(r#"{"url":"https://a.example","type":"sse"}"#), Verdict::Could));
        let ours = r#"{"command":"/bin/ridethrough","args":["bridge","https://a.example/"]}"#;
        assert!(matches!(verdict(ours), Verdict::Already));
    }

    #[test]
    fn what_is_shown_of_a_server_has_no_secret() {
        let shown = |server: &str| {
            let document = read(&format!(r#"{{"mcpServers":{{"it":{server}}}}}"#));
            let entry = entries(&document).pop().unwrap();
            (shown_url(&entry).unwrap(), header_names(&entry))
        };

        let (url, headers) = shown(&remote(
            r#","https://a.example/s3cret/mcp?k=s3cret","--header","X-Key: s3cret""#,
        ));
        assert_eq!((&*url, headers), ("https://a.example/...", vec!["X-Key".to_owned()]));
        let (url, headers) =
            shown(r#"{"url":"${URL}/s3cret","headers":{"A":"s3cret"},"bearer_token_env_var":"T"}"#);
        assert_eq!(url, "a URL with variables");
        assert_eq!(headers, ["A", "Authorization"]);
    }

    fn remote(args: &str) -> String {
        format!(r#"{{"command":"npx","args":["mcp-remote"{args}]}}"#)
    }

    fn verdict(server: &str) -> Verdict {
        let document = read(&format!(r#"{{"mcpServers":{{"it":{server}}}}}"#));
        judge(&entries(&document)[0], "rt")
    }

    fn replaced(text: &str) -> String {
        let document = read(text);
        match judge(&entries(&document)[0], "rt") {
            Verdict::Replace(replacement) => document.with(&replacement.edits),
            other => panic!("{text}: {other:?}"),
        }
    }

    fn read(text: &str) -> Document {
        Document::read(Path::new("a.json"), text.into()).ok().unwrap()
    }
}
