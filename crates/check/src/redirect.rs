//! Redirects: which are followed, what they cost, and which URL to use instead.

use ridethrough::machine::head::Redirect;
use ridethrough::transport::Endpoint;
use ridethrough_config::address;
use ridethrough_terminal::secrets;

use crate::finding::{Finding, Subject};
use crate::seen::AnswerSeen;
use crate::wire::Wire;

/// Returns the path to continue with, if the server redirected to a path of its own with a status that keeps
/// method and body.
pub(crate) fn followed(seen: &AnswerSeen) -> Option<String> {
    match (&seen.head.redirect, seen.head.status.as_u16()) {
        (Some(Redirect::SameOrigin(path)), 307 | 308) => Some(path.to_string()),
        _ => None,
    }
}

/// Returns a finding about redirects with these statuses, if there were any.
pub(crate) fn moved(statuses: &[u16], wire: &Wire) -> Option<Finding> {
    let to = wire.target.as_deref()?;
    let status = statuses.last()?;
    let path = secrets::masked(to.split('?').next().unwrap_or_default());
    let what = match statuses.len() {
        1 => {
            format!("sends everybody on to `{path}` ({status}), which costs each call a round trip")
        }
        count => format!(
            "sends everybody on to `{path}` in {count} steps ({status}), which costs each call \
             {count} round trips"
        ),
    };
    let advice = format!("use {} as its URL", url_of(to, wire));
    let advice = if statuses.contains(&307) {
        format!("{advice}, if that is to stay: 307 says that it is so for now")
    } else {
        advice
    };
    Some(Subject::Reach.note("redirect", what).advise(advice))
}

/// Returns the finding about a redirect that our client does not follow.
pub(crate) fn elsewhere(seen: &AnswerSeen, wire: &Wire) -> Finding {
    let status = seen.head.status.as_u16();
    let (what, advice) = match &seen.head.redirect {
        None => (
            format!("redirects ({status}) to nowhere"),
            "look what the server, or the proxy before it, redirects".to_owned(),
        ),
        Some(Redirect::SameOrigin(_)) if matches!(status, 307 | 308) => (
            format!("redirects ({status}) again and again: our client follows a few times only"),
            "look what the server, or the proxy before it, redirects: it leads in a circle"
                .to_owned(),
        ),
        Some(to @ Redirect::SameOrigin(path)) => (
            format!(
                "redirects ({status}) to `{}` of the same server; our client follows 307 and 308 \
                 only, because others make another request of it",
                secrets::masked(&to.shown())
            ),
            format!(
                "use {} as its URL; a login page means that credentials are missing",
                url_of(path, wire)
            ),
        ),
        Some(to @ Redirect::OtherOrigin(url)) => (
            format!(
                "redirects ({status}) to `{}`; our client does not follow, because credentials \
                 would go astray",
                Endpoint::parse(url).map_or_else(
                    |_| to.shown().into_owned(),
                    |it| secrets::masked(&address::shown(&it))
                )
            ),
            format!(
                "give the URL that it leads to{}, if you trust that; a login page means that \
                 credentials are missing",
                query_of(url, wire)
            ),
        ),
    };
    Subject::Protocol.bad("redirect", what).advise(advice)
}

/// Returns a path of this server as a URL to copy. Its query may hold a key, and is not shown.
fn url_of(target: &str, wire: &Wire) -> String {
    let path = secrets::masked(target.split('?').next().unwrap_or_default());
    format!("`{}{path}`{}", wire.probe.endpoint().origin(), query_of(target, wire))
}

/// Returns a note about the query of a target that is shown without it.
fn query_of(target: &str, wire: &Wire) -> &'static str {
    let query = |text: &str| text.split_once('?').map(|(_, query)| query.to_owned());
    match query(target) {
        None => "",
        it if it == query(wire.probe.endpoint().path()) => " with the same query",
        Some(_) => " with the query that its `Location` has",
    }
}
