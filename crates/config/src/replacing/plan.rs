//! The plan for each server of a config file, and the edits that carry it out.
//!
//! Nothing is guessed: a line of `mcp-remote` is replaced only if our bridge gives every flag in it an equal
//! meaning. Messages here are free of secrets: names of headers and flags, never values.

use ridethrough::transport::Endpoint;
use secrecy::ExposeSecret;

use crate::hosts::entry::{Entry, EntryKind, Transport};
use crate::hosts::line::ProgramLine;
use crate::hosts::other::Other;
use crate::replacing::bridges;
use crate::replacing::verdict::{EntryVerdict, text};

/// Returns the plan for one server; `program` is what its host would start for our bridge.
pub(crate) fn judge(entry: &Entry, program: &str) -> EntryVerdict {
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
            ProgramLine::Other(other) => match bridges::unfit(entry, local, &other) {
                Some(why) => left(why),
                None => EntryVerdict::Replace(bridges::translated(entry, local, &other, program)),
            },
            ProgramLine::Obscure => {
                left("it starts mcp-remote in a way that is not taken apart here")
            }
            ProgramLine::Gateway | ProgramLine::Ours(_) => EntryVerdict::Already,
            ProgramLine::Program => left("it is a local program"),
            ProgramLine::McpRemote(request) => match bridges::refusal(entry, local, &request) {
                Some(why) => left(why),
                None => EntryVerdict::Replace(bridges::replacement(local, &request, program)),
            },
        },
    }
}

/// Returns the URL of a server as it may be shown: without path and query, which may hold keys.
pub fn shown_url(entry: &Entry) -> Option<String> {
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
pub fn header_names(entry: &Entry) -> Vec<String> {
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
                    .chain(other.token_of(entry).map(|_| AUTHORIZATION.to_owned()))
                    .collect()
            }
            _ => Vec::new(),
        },
        EntryKind::Unknown(_) => Vec::new(),
    }
}

fn left(why: impl Into<String>) -> EntryVerdict {
    EntryVerdict::Left(why.into())
}

const AUTHORIZATION: &str = "Authorization";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::document::ConfigDocument;
    use crate::hosts::entry::entries;

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
