//! Rewrites a server that its host reaches by itself into an entry that goes through our bridge.
//!
//! Done only on request: without the bridge the host lacks only our recovery from faults. Values of headers
//! become variables of the entry, so that no process list shows them.

use std::path::Path;

use ridethrough::transport::Endpoint;
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

use crate::address;
use crate::document::{ConfigDocument, Edit};
use crate::hosts::entry::{Entry, EntryKind, Remote};
use crate::replacing::verdict::{EntryVerdict, LoginAfter, Replacement};

/// Returns the entry of this server with our bridge in it, or why it cannot be written.
pub(crate) fn rewritten(
    entry: &Entry,
    document: &ConfigDocument,
    path: &Path,
    program: &str,
) -> EntryVerdict {
    let EntryKind::Remote(remote) = &entry.kind else {
        return EntryVerdict::Left("it is no server at a URL".to_owned());
    };
    let original = &document.text[entry.span.clone()];
    if let Some(why) = objection(remote, original, path) {
        return EntryVerdict::ByHand(why.to_owned());
    }
    let (args, env) = asked(remote);
    let mut members = vec![
        ("command".to_owned(), Value::from(program).to_string()),
        ("args".to_owned(), Value::from(args).to_string()),
    ];
    if !env.is_empty() {
        members.push(("env".to_owned(), Value::Object(env).to_string()));
    }
    // Some hosts need the key that names the transport.
    let kinds = remote.kinds.iter().map(|key| (key.clone(), "\"stdio\"".to_owned()));
    members.extend(kinds);
    let rest = remote.rest.iter();
    members.extend(rest.map(|(key, span)| (key.clone(), document.text[span.clone()].to_owned())));
    let edit = Edit { span: entry.span.clone(), text: laid_out(&members, original) };
    let (edits, dropped, login) = (vec![edit], Vec::new(), LoginAfter::NotNeeded);
    EntryVerdict::Replace(Replacement { edits, dropped, name: "its host", login })
}

/// Returns why a person has to change the entry by hand.
fn objection(remote: &Remote, original: &str, path: &Path) -> Option<&'static str> {
    let url = remote.url.expose_secret();
    let is_taken = |key: &str| ["args", "command", "env"].contains(&key);
    if path.extension().is_some_and(|it| it == "toml") {
        return Some("a TOML file is not written for that");
    }
    if has_comments(original) {
        return Some("there are comments in it, which would be lost");
    }
    if remote.rest.iter().any(|(key, _)| is_taken(key)) {
        return Some("it has an `env` of its own");
    }
    match Endpoint::parse(url) {
        _ if url.contains('$') => None,
        Ok(endpoint) if address::is_safe_from_listeners(&endpoint) => None,
        Ok(_) => Some("its URL is plain http, which our bridge takes with `--allow-http` only"),
        Err(_) => Some("its URL cannot be used"),
    }
}

/// Returns the arguments of our bridge, and the variables that hold the values which must not be arguments.
fn asked(remote: &Remote) -> (Vec<String>, Map<String, Value>) {
    let mut args = vec!["bridge".to_owned(), remote.url.expose_secret().to_owned()];
    let mut env = Map::new();
    for (name, value) in &remote.headers {
        let value = value.expose_secret();
        let bearer = value.get(..7).filter(|it| it.eq_ignore_ascii_case("bearer "));
        if name.eq_ignore_ascii_case("authorization") && bearer.is_some() {
            args.extend(["--bearer-env".to_owned(), BEARER.to_owned()]);
            env.insert(BEARER.to_owned(), json!(value[7..].trim()));
        } else {
            let variable = format!("HEADER_{}", env.len() + 1);
            args.extend(["--header".to_owned(), format!("{name}: ${{{variable}}}")]);
            env.insert(variable, json!(value));
        }
    }
    for (name, variable) in &remote.env_headers {
        args.extend(["--header".to_owned(), format!("{name}: ${{{variable}}}")]);
    }
    if let Some(variable) = &remote.bearer_env {
        args.extend(["--bearer-env".to_owned(), variable.clone()]);
    }
    (args, env)
}

/// Returns an object of these members, laid out as the original is.
pub(crate) fn laid_out(members: &[(String, String)], original: &str) -> String {
    let inside = original.strip_prefix('{').and_then(|it| it.strip_suffix('}')).unwrap_or("");
    let lead: String = inside.chars().take_while(|it| it.is_whitespace()).collect();
    let tail = &inside[inside.trim_end().len()..];
    let between = if lead.contains('\n') { lead.as_str() } else { " " };
    let members: Vec<_> = members
        .iter()
        .map(|(key, value)| format!("{}: {value}", Value::from(key.as_str())))
        .collect();
    format!("{{{lead}{}{tail}}}", members.join(&format!(",{between}")))
}

/// Whether the text has comments.
fn has_comments(json: &str) -> bool {
    let mut is_inside = false;
    let mut characters = json.chars();
    while let Some(it) = characters.next() {
        match it {
            '\\' if is_inside => drop(characters.next()),
            '"' => is_inside = !is_inside,
            '/' if !is_inside => return true,
            _ => {}
        }
    }
    false
}

const BEARER: &str = "BEARER_TOKEN";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::Host;
    use crate::hosts::entry::entries;
    use crate::hosts::reach::{Reached, reach};
    use crate::hosts::variables::VariableScope;

    const PATH: &str = ".cursor/mcp.json";

    #[test]
    fn a_url_becomes_a_bridge_that_reaches_the_same_server_and_shows_it_the_same() {
        for server in [
            r#"{"url":"https://a.example/mcp"}"#,
            r#"{"type":"http","url":"https://a.example/mcp?k=1","headers":{"X-Key":"s3cret","Authorization":"Bearer t0k"}}"#,
            r#"{"serverUrl":"https://a.example/sse","headers":{"Authorization":"${env:AUTH}"},"timeout":5}"#,
            r#"{"httpUrl":"http://localhost:8080/mcp","trust":true}"#,
        ] {
            let before = document(server);
            let after = document_of(&replaced(&before));

            let (old, new) = (reached(&before), reached(&after));

            assert!(old.is_same(&new), "{}", after.text);
            let args = after.text.split("\"env\"").next().unwrap();
            assert!(!args.contains("s3cret") && !args.contains("t0k"), "{args}");
        }
    }

    #[test]
    fn an_entry_keeps_its_layout_and_what_else_it_says() {
        let server = "{\n    \"type\": \"http\",\n    \"url\": \"https://a.example/mcp\",\n    \"tools\": [ \"*\" ]\n  }";

        let after = replaced(&document(server));

        let expected = "{\n    \"command\": \"rt\",\n    \"args\": [\"bridge\",\"https://a.example/mcp\"],\n    \
                        \"type\": \"stdio\",\n    \"tools\": [ \"*\" ]\n  }";
        assert_eq!(after, format!("{{\"mcpServers\":{{\"it\":{expected}}}}}"));
    }

    #[test]
    fn what_would_be_lost_or_weaker_is_left_to_a_person() {
        for (server, words) in [
            ("{\"url\":\"https://a.example/mcp\" /* mine */}", "comments"),
            (r#"{"url":"http://a.example/mcp"}"#, "plain http"),
            (r#"{"url":"https://a.example/","env":{"A":"b"}}"#, "`env`"),
        ] {
            let document = document(server);
            let entry = entries(&document).pop().unwrap();

            let verdict = rewritten(&entry, &document, Path::new(PATH), "rt");

            let EntryVerdict::ByHand(why) = verdict else { panic!("{server}: {verdict:?}") };
            assert!(why.contains(words) && !why.contains("s3cret"), "{why}");
        }
    }

    fn replaced(document: &ConfigDocument) -> String {
        let entry = entries(document).pop().unwrap();
        match rewritten(&entry, document, Path::new(PATH), "rt") {
            EntryVerdict::Replace(replacement) => document.with(&replacement.edits),
            other => panic!("{other:?}"),
        }
    }

    fn reached(document: &ConfigDocument) -> Reached {
        let environment = |name: &str| (name == "AUTH").then(|| "Bearer env".to_owned());
        let scope = VariableScope {
            environment: &environment,
            home: None,
            workspace: None,
            may_read: false,
        };
        let entry = entries(document).pop().unwrap();
        // The tests use another program name.
        let text = document.text.replace("\"rt\"", "\"ridethrough\"");
        let renamed = document_of(&text);
        let entry = if text == document.text { entry } else { entries(&renamed).pop().unwrap() };
        reach(&entry, Host::of(Path::new(PATH)).dialect(), scope).unwrap()
    }

    fn document(server: &str) -> ConfigDocument {
        document_of(&format!("{{\"mcpServers\":{{\"it\":{server}}}}}"))
    }

    fn document_of(text: &str) -> ConfigDocument {
        ConfigDocument::read(Path::new(PATH), text.into()).ok().unwrap()
    }
}
