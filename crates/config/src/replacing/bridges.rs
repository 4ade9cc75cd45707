//! Whether our bridge can take the place of another one, and the edits that put it there.

use ridethrough::transport::Endpoint;

use crate::address;
use crate::document::Edit;
use crate::hosts::entry::{Entry, Local};
use crate::hosts::line::{FlagMeaning, Request};
use crate::hosts::other::Other;
use crate::hosts::{their_login, variables};
use crate::login::LoginFlags;
use crate::replacing::verdict::{LoginAfter, Replacement, text};

/// Returns why our bridge cannot take the place of this `mcp-remote`, if it cannot.
pub(crate) fn refusal(entry: &Entry, local: &Local, request: &Request) -> Option<String> {
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
        _ if LoginFlags::read(login_words(local, request)).is_err() => {
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
pub(crate) fn unfit(entry: &Entry, local: &Local, other: &Other) -> Option<String> {
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
        other if other.token_of(entry).is_some() && headers.iter().any(is_token) => {
            Some("it has a token in a header and one in a variable".to_owned())
        }
        other => bad_url(text(local, other.url), false),
    }
}

/// Returns the arguments of another bridge in those of ours.
pub(crate) fn translated(
    entry: &Entry,
    local: &Local,
    other: &Other,
    program: &str,
) -> Replacement {
    let mut args = vec!["bridge".to_owned(), text(local, other.url).to_owned()];
    for header in &other.headers {
        args.extend(["--header".to_owned(), Other::header(&local.args, *header)]);
    }
    if let Some(variable) = other.token_of(entry) {
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
    let is_fine = address::is_safe_from_listeners(&endpoint) || is_allowed;
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
pub(crate) fn replacement(local: &Local, request: &Request, program: &str) -> Replacement {
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

/// The values of `--transport`. Our bridge finds out by itself which transport the server speaks.
const TRANSPORTS: [&str; 4] = ["http-first", "http-only", "sse-first", "sse-only"];
