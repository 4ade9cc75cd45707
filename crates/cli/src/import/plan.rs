//! The plan for each server of a config file, and the edits that carry it out.
//!
//! Nothing is guessed: a line of `mcp-remote` is replaced only if our bridge gives every flag in it an equal
//! meaning. Messages here are free of secrets: names of headers and flags, never values.

use ridethrough::transport::Endpoint;
use secrecy::ExposeSecret;

use super::document::Edit;
use super::entry::{Entry, EntryKind, Local, Transport};
use super::line::{FlagMeaning, ProgramLine, Request};
use super::other::Other;
use super::{their_login, variables};
use crate::oauth::OAuthFlags;
use crate::target;

/// The plan for one server.
#[derive(Debug)]
pub(super) enum EntryVerdict {
    /// The entry uses our bridge already.
    Already,
    /// The host reaches this remote server itself, and for this reason a person has to change the entry.
    ByHand(String),
    /// The host reaches this remote server itself; our bridge could be put in between.
    Could,
    /// The entry stays as it is, for this reason.
    Left(String),
    /// Another bridge, or the host's own connection, is replaced by our bridge.
    Replace(Replacement),
}

pub(super) struct Replacement {
    pub(super) edits: Vec<Edit>,
    /// Flags that our bridge does not need.
    pub(super) dropped: Vec<&'static str>,
    /// The name of what is replaced.
    pub(super) name: &'static str,
    /// What becomes of the login.
    pub(super) login: LoginAfter,
}

/// What becomes of a login when a bridge is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoginAfter {
    /// A person logs in.
    Needed,
    /// No login is needed, as far as is known.
    NotNeeded,
    /// The login of `mcp-remote` is used.
    TakenOver,
}

impl Replacement {
    /// Notes that the server wants a login. A login that `mcp-remote` has is used.
    pub(super) fn needs_login(&mut self) {
        if self.login == LoginAfter::NotNeeded {
            self.login = LoginAfter::Needed;
        }
    }
}

impl std::fmt::Debug for Replacement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replacement").field("dropped", &self.dropped).finish_non_exhaustive()
    }
}

/// Returns the plan for one server; `program` is what its host would start for our bridge.
pub(super) fn judge(entry: &Entry, program: &str) -> EntryVerdict {
    if entry.is_disabled {
        return left("it is switched off");
    }
    match &entry.kind {
        EntryKind::Unknown(why) => left(*why),
        EntryKind::Remote(remote) => match remote.transport {
            Transport::Http | Transport::Sse => EntryVerdict::Could,
            Transport::Unknown => left("its transport is not known"),
        },
        EntryKind::Local(local) => match ProgramLine::read(local) {
            ProgramLine::Another(name) => left(format!(
                "it puts a local program on the network by {name}; `ridethrough expose` does that, too"
            )),
            ProgramLine::Other(other) => match unfit(entry, local, &other) {
                Some(why) => left(why),
                None => EntryVerdict::Replace(translated(entry, local, &other, program)),
            },
            ProgramLine::Obscure => {
                left("it starts mcp-remote in a way that is not taken apart here")
            }
            ProgramLine::Ours(_) => EntryVerdict::Already,
            ProgramLine::Program => left("it is a local program"),
            ProgramLine::McpRemote(request) => match refusal(entry, local, &request) {
                Some(why) => left(why),
                None => EntryVerdict::Replace(replacement(local, &request, program)),
            },
        },
    }
}

/// Returns the URL of a server as it may be shown: without path and query, which may hold keys.
pub(super) fn shown_url(entry: &Entry) -> Option<String> {
    let url = match &entry.kind {
        EntryKind::Remote(remote) => remote.url.expose_secret(),
        EntryKind::Local(local) => match ProgramLine::read(local) {
            ProgramLine::McpRemote(request) | ProgramLine::Ours(request) => {
                text(local, request.url?)
            }
            ProgramLine::Other(other) => text(local, other.url),
            _ => return None,
        },
        EntryKind::Unknown(_) => return None,
    };
    Some(match Endpoint::parse(url) {
        Ok(endpoint) if endpoint.path() == "/" => endpoint.origin(),
        Ok(endpoint) => format!("{}/...", endpoint.origin()),
        Err(_) if url.contains("${") => "a URL with variables".to_owned(),
        Err(_) => "a URL that cannot be used".to_owned(),
    })
}

/// Returns the names of all headers that are sent to a server.
pub(super) fn header_names(entry: &Entry) -> Vec<String> {
    match &entry.kind {
        EntryKind::Remote(remote) => {
            let named = remote.headers.iter().map(|(name, _)| name);
            let variables = remote.env_headers.iter().map(|(name, _)| name);
            let bearer = remote.bearer_env.iter().map(|_| "Authorization".to_owned());
            named.chain(variables).cloned().chain(bearer).collect()
        }
        EntryKind::Local(local) => match ProgramLine::read(local) {
            ProgramLine::McpRemote(request) | ProgramLine::Ours(request) => {
                let headers = request.flags.iter().filter(|flag| flag.name == "--header");
                let lines = headers.filter_map(|flag| text(local, flag.value?).split_once(':'));
                lines.map(|(name, _)| name.trim().to_owned()).collect()
            }
            ProgramLine::Other(other) => {
                let headers = other.headers.iter().map(|it| Other::header(&local.args, *it));
                let name = |it: String| Some(it.split_once(':')?.0.trim().to_owned());
                headers
                    .filter_map(name)
                    .chain(token_of(entry, &other).map(|_| AUTHORIZATION.to_owned()))
                    .collect()
            }
            _ => Vec::new(),
        },
        EntryKind::Unknown(_) => Vec::new(),
    }
}

/// Returns why our bridge cannot take the place of this `mcp-remote`, if it cannot.
fn refusal(entry: &Entry, local: &Local, request: &Request) -> Option<String> {
    let named = |meaning: FlagMeaning| -> Vec<_> {
        let flags = request.flags.iter().filter(|flag| flag.meaning == meaning);
        flags.map(|flag| format!("`{}`", flag.name)).collect()
    };
    let missing = named(FlagMeaning::Missing);
    let has_variable = |name: &str| entry.env.iter().any(|(own, _)| own == name);
    let values = |name: &'static str| {
        let flags = request.flags.iter().filter(move |flag| flag.name == name);
        flags.filter_map(|flag| Some(text(local, flag.value?)))
    };
    Some(match request {
        Request { url: None, .. } => "it names no URL".to_owned(),
        Request { strays, .. } if !strays.is_empty() => unknown(local, strays),
        _ if !missing.is_empty() => format!("our bridge has no {}", missing.join(", ")),
        _ if values("--transport").any(|it| !TRANSPORTS.contains(&it)) => {
            "its `--transport` is not known".to_owned()
        }
        _ if values("--header").any(|it| !it.contains(':')) => {
            "a `--header` has no colon".to_owned()
        }
        _ if OAuthFlags::read(login_words(local, request)).is_err() => {
            "a flag of its login cannot be used".to_owned()
        }
        _ if has_variable("NODE_EXTRA_CA_CERTS") && !has_variable("SSL_CERT_FILE") => {
            "its certificates are named in NODE_EXTRA_CA_CERTS: name them in SSL_CERT_FILE too"
                .to_owned()
        }
        Request { url: Some(url), .. } => {
            let is_allowed = request.flags.iter().any(|flag| flag.name == "--allow-http");
            return bad_url(text(local, *url), is_allowed);
        }
    })
}

/// Returns the flags of a login, with their values.
fn login_words(local: &Local, request: &Request) -> Vec<String> {
    let flags = request.flags.iter().filter(|flag| flag.meaning == FlagMeaning::OAuth);
    let words = flags.flat_map(|flag| {
        [Some(flag.name), flag.value.map(|at| text(local, at))].into_iter().flatten()
    });
    words.map(str::to_owned).collect()
}

/// Returns why our bridge cannot take the place of another one, if it cannot.
fn unfit(entry: &Entry, local: &Local, other: &Other) -> Option<String> {
    let name = other.name;
    let headers: Vec<_> = other.headers.iter().map(|it| Other::header(&local.args, *it)).collect();
    let is_token = |it: &String| it.to_ascii_lowercase().starts_with("authorization");
    match other {
        Other { strays: 1.., .. } => Some(format!("{name} has an argument that is not known")),
        Other { refused, .. } if !refused.is_empty() => {
            let flags: Vec<_> = refused.iter().map(|flag| format!("`{flag}`")).collect();
            Some(format!("our bridge has no {} of {name}", flags.join(", ")))
        }
        _ if headers.iter().any(|it| !it.contains(':')) => {
            Some("a `--header` has no colon".to_owned())
        }
        // Our bridge would fill in the variable, and then send another value than the other bridge does.
        _ if headers.iter().any(|it| variables::has_names(it)) => {
            Some(format!("a header has a variable, which {name} does not fill in"))
        }
        other if token_of(entry, other).is_some() && headers.iter().any(is_token) => {
            Some("it has a token in a header and one in a variable".to_owned())
        }
        other => bad_url(text(local, other.url), false),
    }
}

/// Returns the variable that holds the token of an `mcp-proxy`, if its entry sets it.
pub(super) fn token_of(entry: &Entry, other: &Other) -> Option<&'static str> {
    let is_set = entry.env.iter().any(|(name, _)| name == TOKEN);
    (other.name == "mcp-proxy" && is_set).then_some(TOKEN)
}

/// Returns the arguments of another bridge in those of ours.
fn translated(entry: &Entry, local: &Local, other: &Other, program: &str) -> Replacement {
    let mut args = vec!["bridge".to_owned(), text(local, other.url).to_owned()];
    for header in &other.headers {
        args.extend(["--header".to_owned(), Other::header(&local.args, *header)]);
    }
    if let Some(variable) = token_of(entry, other) {
        args.extend(["--bearer-env".to_owned(), variable.to_owned()]);
    }
    let args: Vec<_> = args.into_iter().map(|it| serde_json::Value::from(it).to_string()).collect();
    let args = format!("[{}]", args.join(", "));
    // An argument was read, so the list of arguments exists.
    let span = local.args_span.clone().unwrap_or_default();
    let program = serde_json::Value::from(program).to_string();
    let command = Edit { span: local.command.span.clone(), text: program };
    let edits = vec![command, Edit { span, text: args }];
    let dropped = other.dropped.clone();
    Replacement { edits, dropped, name: other.name, login: LoginAfter::NotNeeded }
}

fn bad_url(url: &str, is_allowed: bool) -> Option<String> {
    if url.contains("${") {
        // The value is filled in by the host and not known here.
        return None;
    }
    let endpoint = match Endpoint::parse(url) {
        Ok(endpoint) => endpoint,
        Err(error) => return Some(format!("its URL {error}")),
    };
    let is_fine = target::is_safe_from_listeners(&endpoint) || is_allowed;
    (!is_fine).then(|| "its URL is plain http, and `--allow-http` is not there".to_owned())
}

/// Returns the stray arguments that look like flags: any other may be a secret.
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

/// Returns the fewest edits: the program, the words that start `mcp-remote`, and flags that are not needed.
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
    // The first argument that stays: an argument that is dropped before it goes with the comma behind, any
    // other with the comma in front. Two edits of one comma would overlap.
    let mut first = 0;
    for flag in request.flags.iter().filter(|flag| flag.meaning == FlagMeaning::Needless) {
        let last = flag.value.unwrap_or(flag.at);
        let span = if flag.at == first {
            first = last + 1;
            // The URL comes later, so there is a next argument.
            args[flag.at].span.start..args[first].span.start
        } else {
            args[flag.at - 1].span.end..args[last].span.end
        };
        edits.push(Edit { span, text: String::new() });
        dropped.push(flag.name);
    }
    let is_stored = their_login::is_stored(local, request);
    let login = if is_stored { LoginAfter::TakenOver } else { LoginAfter::NotNeeded };
    Replacement { edits, dropped, name: "mcp-remote", login }
}

fn text(local: &Local, at: usize) -> &str {
    local.args[at].text.expose_secret()
}

fn left(why: impl Into<String>) -> EntryVerdict {
    EntryVerdict::Left(why.into())
}

/// The variable in which `mcp-proxy` looks for a token.
const TOKEN: &str = "API_ACCESS_TOKEN";
const AUTHORIZATION: &str = "Authorization";
/// The values of `--transport`. Our bridge finds out by itself which transport the server speaks.
const TRANSPORTS: [&str; 4] = ["http-first", "http-only", "sse-first", "sse-only"];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::document::ConfigDocument;
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
            // The port is for a login in the browser.
            (
                r#""npx","args":["-p", "mcp-remote","mcp-remote","U", "--ipv4" ,"9696", "--debug"]"#,
                r#""rt","args":["bridge","U" ,"9696", "--debug"]"#,
            ),
            (
                r#""npx","args":["mcp-remote","U","--resource","urn:a","--device-code"]"#,
                r#""rt","args":["bridge","U","--resource","urn:a","--device-code"]"#,
            ),
            (
                r#""npx","args":["-y","supergateway","--header","A: b","--sse","U"]"#,
                r#""rt","args":["bridge", "U", "--header", "A: b"]"#,
            ),
            (
                r#""uvx","args":["mcp-proxy","--headers","A","b","U"],"env":{"API_ACCESS_TOKEN":"t"}"#,
                r#""rt","args":["bridge", "U", "--header", "A: b", "--bearer-env", "API_ACCESS_TOKEN"],"env":{"API_ACCESS_TOKEN":"t"}"#,
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
            (r#","https://a.example/","--auth-timeout","s3cret""#, "a flag of its login"),
            (r#","https://a.example/","--protocol","auto""#, "our bridge has no `--protocol`"),
            (r#","https://a.example/","--brand-new""#, "`--brand-new` is not known"),
            (r#","https://a.example/","s3cret""#, "an argument that is not known"),
            (r#","https://a.example/","--transport","s3cret""#, "`--transport` is not known"),
            (r#","https://a.example/","--header","s3cret""#, "no colon"),
            (r#","http://a.example/""#, "plain http"),
            (r#","ftp://a.example/""#, "must begin with http"),
        ];
        for (args, words) in cases {
            let EntryVerdict::Left(why) = verdict(&remote(args)) else { panic!("{args}") };

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
            assert!(matches!(verdict(&remote(args)), EntryVerdict::Replace(_)), "{args}");
        }
    }

    #[test]
    fn all_other_servers_stay_as_they_are() {
        let left = |server: &str| matches!(verdict(server), EntryVerdict::Left(_));

        assert!(left(r#"{"command":"uvx","args":["mcp-server-git"]}"#));
        assert!(left(r#"{"command":"uvx","args":["mcp-proxy","http://a.example/"]}"#));
        assert!(left(
            r#"{"command":"uvx","args":["mcp-proxy","--no-verify-ssl","https://a.example/"]}"#
        ));
        assert!(left(r#"{"command":"uvx","args":["mcp-proxy","--port","1","uvx","git"]}"#));
        // The other bridge sends such a variable as it is written, and ours would fill it in.
        assert!(left(
            r#"{"command":"uvx","args":["mcp-proxy","-H","A","${B}","https://a.example/"]}"#
        ));
        assert!(left(
            r#"{"command":"uvx","args":["mcp-proxy","-H","Authorization","Bearer b","https://a.example/"],
                "env":{"API_ACCESS_TOKEN":"c"}}"#
        ));
        assert!(left(
            r#"{"command":"npx","args":["supergateway","--header","a","--sse","https://a.example/"]}"#
        ));
        assert!(left(
            r#"{"command":"npx","args":["mcp-remote","https://a.example/"],"disabled":true}"#
        ));
        assert!(left(
            r#"{"command":"npx","args":["mcp-remote","https://a.example/"],
                "env":{"NODE_EXTRA_CA_CERTS":"/ca.pem"}}"#
        ));
        assert!(matches!(verdict(r#"{"url":"https://a.example/mcp"}"#), EntryVerdict::Could));
        assert!(matches!(
            verdict(r#"{"url":"https://a.example","type":"sse"}"#),
            EntryVerdict::Could
        ));
        let ours = r#"{"command":"/bin/ridethrough","args":["bridge","https://a.example/"]}"#;
        assert!(matches!(verdict(ours), EntryVerdict::Already));
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

    fn verdict(server: &str) -> EntryVerdict {
        let document = read(&format!(r#"{{"mcpServers":{{"it":{server}}}}}"#));
        judge(&entries(&document)[0], "rt")
    }

    fn replaced(text: &str) -> String {
        let document = read(text);
        match judge(&entries(&document)[0], "rt") {
            EntryVerdict::Replace(replacement) => document.with(&replacement.edits),
            other => panic!("{text}: {other:?}"),
        }
    }

    fn read(text: &str) -> ConfigDocument {
        ConfigDocument::read(Path::new("a.json"), text.into()).ok().unwrap()
    }
}
