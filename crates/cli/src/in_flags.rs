//! Messages of the library, which address a programmer, in words for a person at the command line.

use ridethrough::transport::{Cause, Failure};

/// Returns the text with flags in place of the library's methods, and without remarks that libraries make to
/// each other.
pub(crate) fn told(text: &str) -> String {
    let text =
        IN_CODE.iter().fold(text.to_owned(), |text, (code, words)| text.replace(code, words));
    BELOW.iter().fold(text, |text, mark| without(&text, mark))
}

/// Returns the text without the bracketed parts that begin with `mark`.
fn without(text: &str, mark: &str) -> String {
    match text.split_once(mark).and_then(|(before, rest)| Some((before, rest.split_once(')')?.1))) {
        Some((before, after)) => format!("{before}{after}"),
        None => text.to_owned(),
    }
}

/// Returns what a proxy did, if the proxy failed and not the server behind it.
pub(crate) fn of_proxy(failure: &Failure) -> Option<String> {
    let (proxy, rest) = failure.detail.as_deref()?.strip_prefix("proxy `")?.split_once('`')?;
    let is_unreached = rest.is_empty() || rest.starts_with(':');
    let is_silent = is_unreached
        && matches!(
            failure.cause,
            Cause::ConnectRefused | Cause::ConnectTimedOut | Cause::NameUnknown
        );
    Some(if is_silent {
        format!("the proxy at `{proxy}` did not answer: {}", failure.cause)
    } else {
        format!("the proxy at `{proxy}`{rest}")
    })
}

/// The hint about a proxy that failed.
pub(crate) const PROXY: &str = "check the proxy that `https_proxy`, `http_proxy` or `all_proxy` names; `no_proxy` lists \
                                hosts that are reached without it";

/// Phrases of the layers below that add nothing to the cause before them.
const BELOW: [&str; 3] = [
    " (connection closed before message completed",
    " (error reading a body from connection",
    " (invalid HTTP version parsed",
];
const IN_CODE: [(&str, &str); 12] = [
    (", `SSL_CERT_FILE` or `ClientBuilder::root_certificates`", " or `SSL_CERT_FILE`"),
    (" or `ClientBuilder::message_limit`", ""),
    (
        "show it a certificate with `ClientBuilder::client_certificate`",
        "this program cannot show it a certificate yet, the library can",
    ),
    ("and which roots this client trusts", "and which are trusted here: `--cacert FILE` adds more"),
    (
        "the server was not told that this client follows tasks: see `ClientBuilder::tasks`",
        "the server was not told that this command follows tasks",
    ),
    ("ended because the link was closed", "ended because the connection was closed"),
    ("make a new client: this one was closed", "run the command again"),
    ("no better credentials could be had: this client has none", "no token was sent"),
    (
        "no better credentials could be had: there is one token only, and it was refused",
        "the token was refused",
    ),
    ("no better credentials could be had: log in to ", "log in to "),
    ("no better credentials could be had: ", "the token was refused: "),
    ("the retry budget of this server is empty", "it was repeated too often"),
];

#[cfg(test)]
mod tests {
    use ridethrough::error::Advice;

    use super::*;

    #[test]
    fn nothing_that_a_person_is_told_names_a_method_of_the_library() {
        for advice in [
            Advice::ClientCertificate,
            Advice::NewAuthority,
            Advice::OwnCertificate,
            Advice::TrustAuthority,
            Advice::TrustAuthorityOrSendChain,
            Advice::TrustCertificate,
        ] {
            let told = told(advice.words());

            assert!(!told.contains("::"), "{told}");
        }
    }

    #[test]
    fn what_libraries_say_to_each_other_is_left_out() {
        let told = told(
            "connection closed before the answer (error reading a body from connection: end); a (b)",
        );

        assert_eq!(told, "connection closed before the answer; a (b)");
    }

    #[test]
    fn a_proxy_is_told_from_the_server() {
        let refused = Failure::not_sent(Cause::ConnectRefused);

        assert_eq!(of_proxy(&refused), None);
        let unreached = refused.clone().with_detail("proxy `127.0.0.1:9`: Connection refused");
        assert_eq!(
            of_proxy(&unreached).unwrap(),
            "the proxy at `127.0.0.1:9` did not answer: connection refused"
        );
        let refusing = refused.with_detail("proxy `a:1` opens no tunnel to `b:2`: status 502");
        assert_eq!(
            of_proxy(&refusing).unwrap(),
            "the proxy at `a:1` opens no tunnel to `b:2`: status 502"
        );
    }
}
