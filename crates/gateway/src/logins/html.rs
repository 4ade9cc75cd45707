//! The gateway's own pages for people who log in. They have no scripts, load nothing, are shown in no frame, and
//! tell no other site where they are.
//!
//! Every word that is not ours is escaped. No ticket, code or state is in a page: the form goes back to the address
//! of the page, which has the ticket.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use ridethrough_core::answer::words::harmless;
use ridethrough_server::Page;
use sha2::{Digest, Sha256};

use super::tickets::{AskedFor, LoginSubject};

/// The page on which a person decides whether a principal's client may use a server in their name.
pub(crate) struct ConsentPage<'a> {
    pub(crate) subject: &'a LoginSubject,
    pub(crate) asked: &'a AskedFor,
    /// What the form carries, so that it counts only from this page.
    pub(crate) form: &'a str,
    /// The value of `Set-Cookie`.
    pub(crate) cookie: &'a str,
    /// Whether the person must show the token of the principal.
    pub(crate) needs_token: bool,
}

/// What a page says that has no form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PageNotice {
    Declined,
    Done {
        server: String,
    },
    Failed {
        server: String,
        why: String,
    },
    /// The callback belongs to no login that was begun in this browser.
    NoLogin,
    /// The ticket is unknown, used, or too old.
    NoTicket,
    /// The form was not from the page that was shown last.
    OtherPage,
    /// The token that was shown is not one of the principal's.
    OtherPrincipal,
}

impl ConsentPage<'_> {
    pub(crate) fn page(&self) -> Page {
        let principal = shown(self.subject.principal().name());
        let (server, client) = (shown(&self.subject.server), shown(&self.subject.client));
        let client = if client.is_empty() { "it does not say".to_owned() } else { client };
        let (place, issuer) = (shown(&self.asked.server), shown(&self.asked.issuer_host));
        let scopes: String =
            self.asked.scopes.iter().map(|it| format!("<li>{}</li>", shown(it))).collect();
        let scopes = if scopes.is_empty() {
            "what the server grants if nothing is named".to_owned()
        } else {
            format!("<ul>{scopes}</ul>")
        };
        let form = escaped(self.form);
        let token = if self.needs_token {
            format!(
                "<p><label>The token by which {principal} comes in here<br>\
                 <input type=\"password\" name=\"token\" autocomplete=\"off\"></label></p>"
            )
        } else {
            String::new()
        };
        let text = format!(
            "<h1>Let {principal} use {server} with your account?</h1>\
             <dl><dt>Principal of this gateway</dt><dd>{principal}</dd>\
             <dt>Client, as it calls itself</dt><dd>{client}</dd>\
             <dt>Server</dt><dd>{server} ({place})</dd>\
             <dt>You log in at</dt><dd>{issuer}</dd>\
             <dt>Scopes</dt><dd>{scopes}</dd></dl>\
             <p>Go on only if you are <b>{principal}</b> and have just used this client. What {principal} does at \
             {server} through this gateway is done with the account that you log in with.</p>\
             <form method=\"post\"><input type=\"hidden\" name=\"page\" value=\"{form}\">{token}\
             <button name=\"answer\" value=\"yes\">Go on to {issuer}</button> \
             <button name=\"answer\" value=\"no\">No</button></form>"
        );
        let mut page = page(StatusCode::OK, &format!("Log in to {server}"), &text);
        put(&mut page.headers, SET_COOKIE, self.cookie);
        page
    }
}

impl PageNotice {
    pub(crate) fn page(&self) -> Page {
        let (status, title, text) = match self {
            Self::Declined => (
                StatusCode::OK,
                "Not logged in".to_owned(),
                "Nothing was granted. You can close this window.".to_owned(),
            ),
            Self::Done { server } => (
                StatusCode::OK,
                format!("Logged in to {}", shown(server)),
                "Calls that waited for it go on by themselves. You can close this window.".to_owned(),
            ),
            Self::Failed { server, why } => (
                StatusCode::OK,
                format!("Not logged in to {}", shown(server)),
                format!("{}. Call the server again to get another link.", shown(why)),
            ),
            Self::NoLogin => (
                StatusCode::BAD_REQUEST,
                "This is not the end of a login".to_owned(),
                "No login that was begun in this browser waits for it, and nothing was granted. If you opened a \
                 link that somebody sent you, close this window."
                    .to_owned(),
            ),
            Self::NoTicket => (
                StatusCode::NOT_FOUND,
                "This link is not good any more".to_owned(),
                "A link is good once, and for ten minutes. Call the server again to get another one."
                    .to_owned(),
            ),
            Self::OtherPage => (
                StatusCode::BAD_REQUEST,
                "This form is not good any more".to_owned(),
                "The page was opened again, or elsewhere, or the browser keeps no cookies. Open the link once \
                 more."
                    .to_owned(),
            ),
            Self::OtherPrincipal => (
                StatusCode::FORBIDDEN,
                "This is not the token of that principal".to_owned(),
                "Nothing was granted. Go back if it was mistyped; if the link was sent to you, close this window."
                    .to_owned(),
            ),
        };
        page(status, &title, &format!("<h1>{title}</h1><p>{text}</p>"))
    }
}

/// Sends the browser on, after a form.
pub(crate) fn redirect(url: &str) -> Page {
    let mut page = page(StatusCode::SEE_OTHER, "Log in", "");
    put(&mut page.headers, LOCATION, url);
    page
}

/// `title` and `text` are HTML.
fn page(status: StatusCode, title: &str, text: &str) -> Page {
    let body = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
         <style>{STYLE}</style></head><body>{text}</body></html>"
    );
    let mut headers = HeaderMap::new();
    put(&mut headers, CONTENT_TYPE, "text/html; charset=utf-8");
    put(&mut headers, CONTENT_SECURITY_POLICY, &policy());
    put(&mut headers, X_FRAME_OPTIONS, "DENY");
    put(&mut headers, X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(&mut headers, REFERRER_POLICY, "no-referrer");
    put(&mut headers, CACHE_CONTROL, "no-store");
    Page { status, headers, body }
}

/// Nothing is loaded or run. There is no `form-action`: Chromium applies it to every redirect behind a form, and
/// which hosts an authorization server redirects to cannot be known.
fn policy() -> String {
    let style = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; frame-ancestors 'none'"
    )
}

fn put(headers: &mut HeaderMap, name: http::HeaderName, value: &str) {
    // A value with control characters is no header; none of ours has them.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// Returns words of others as they can be shown: bounded, without controls, escaped.
fn shown(text: &str) -> String {
    let text: String = harmless(text).chars().take(LONGEST).collect();
    escaped(&text)
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            letter => safe.push(letter),
        }
    }
    safe
}

const LONGEST: usize = 200;
const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}\
                     dt{font-weight:600;margin-top:.7rem}dd{margin:0}ul{margin:0;padding-left:1.2rem}\
                     button{font:inherit;padding:.4rem 1rem;margin-top:1rem}";

#[cfg(test)]
mod tests {
    use ridethrough_server::{Caller, Principal};

    use super::*;

    #[test]
    fn the_page_names_principal_client_server_issuer_and_scopes() {
        let page = consent("agent 1.0", "ada", &["issues:read", "issues:write"]);

        for word in
            ["ada", "agent 1.0", "issues", "login.example.com", "issues:read", "issues:write"]
        {
            assert!(page.body.contains(word), "{word}");
        }
    }

    #[test]
    fn no_word_of_others_is_markup() {
        let evil = "<script>alert(1)</script>\"'>&<form action=//evil>\u{202e}\n";
        let asked = AskedFor {
            server: evil.to_owned(),
            issuer_host: evil.to_owned(),
            scopes: vec![evil.to_owned()],
        };
        let subject = subject(evil, evil, evil);
        let page = ConsentPage {
            subject: &subject,
            asked: &asked,
            form: "f",
            cookie: "c=1",
            needs_token: false,
        }
        .page();

        let (server, why) = (evil.to_owned(), evil.to_owned());
        let failed = PageNotice::Failed { server: server.clone(), why }.page();
        for body in [page.body, failed.body, PageNotice::Done { server }.page().body] {
            assert!(!body.contains("<script") && !body.contains("<form a"), "{body}");
            assert!(!body.contains('\u{202e}') && !body.contains("\"'>"), "{body}");
        }
    }

    #[test]
    fn a_long_name_does_not_hide_the_rest() {
        let page = consent(&"x".repeat(100_000), "ada", &["read"]);

        assert!(page.body.len() < 10_000, "{}", page.body.len());
    }

    #[test]
    fn every_page_runs_nothing_is_in_no_frame_and_tells_nobody_where_it_is() {
        let done = PageNotice::Done { server: "issues".to_owned() };
        let notices = [PageNotice::Declined, done, PageNotice::NoLogin, PageNotice::NoTicket];
        let pages = notices.iter().map(PageNotice::page);
        for page in pages.chain([consent("agent", "ada", &[]), redirect("https://a.example/?b")]) {
            let header = |name| page.headers[name].to_str().unwrap();
            let policy = header("content-security-policy");
            assert!(policy.starts_with("default-src 'none'; "), "{policy}");
            assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
            assert_eq!(header("x-frame-options"), "DENY");
            assert_eq!(header("referrer-policy"), "no-referrer");
            assert_eq!(header("cache-control"), "no-store");
            assert_eq!(header("x-content-type-options"), "nosniff");
            assert!(!page.body.contains("<script"));
        }
    }

    fn consent(client: &str, principal: &str, scopes: &[&str]) -> Page {
        let asked = AskedFor {
            server: "https://issues.example.com".to_owned(),
            issuer_host: "login.example.com".to_owned(),
            scopes: scopes.iter().map(|it| (*it).to_owned()).collect(),
        };
        let subject = subject(client, principal, "issues");
        ConsentPage {
            subject: &subject,
            asked: &asked,
            form: "f",
            cookie: "c=1",
            needs_token: false,
        }
        .page()
    }

    fn subject(client: &str, principal: &str, server: &str) -> LoginSubject {
        let caller = Caller::new(Principal::new(principal), "");
        LoginSubject { caller, server: server.into(), client: client.to_owned() }
    }
}
