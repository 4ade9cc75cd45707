//! The person with a browser: opens an authorization URL and goes wherever it is sent.
//!
//! The person consents by opening the page, as the lab's authorization server has it. A client starts the
//! browser as the program in `BROWSER`; its `User-Agent` shows that it is not a client, so that logins can be
//! counted.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::Entry;
use crate::http1_client::{Dialed, Dialer, WireConnection};

/// Opens a URL, and follows redirects until there are none. `dial` connects to `host:port`.
///
/// # Errors
///
/// Returns the reason if a server cannot be reached, or does not speak HTTP.
pub async fn open<D>(url: &str, dial: D) -> Result<(), String>
where
    D: Fn(String) -> BoxFuture<'static, Dialed> + Send + Sync + 'static,
{
    let dial: Dialer = Arc::new(dial);
    let mut url = url.to_owned();
    for _ in 0..MOST_REDIRECTS {
        match visit(&url, &dial).await? {
            Some(next) => url = next,
            None => return Ok(()),
        }
    }
    Err(format!("it was redirected {MOST_REDIRECTS} times"))
}

/// Opens an authorization URL, and returns where the browser is sent, without going there: the URL that a
/// person would paste. `None` if it is sent nowhere.
///
/// # Errors
///
/// Returns the reason if a server cannot be reached, or does not speak HTTP.
pub async fn sent_to<D>(url: &str, dial: D) -> Result<Option<String>, String>
where
    D: Fn(String) -> BoxFuture<'static, Dialed> + Send + Sync + 'static,
{
    visit(url, &(Arc::new(dial) as Dialer)).await
}

/// GETs a URL, and returns where it leads.
pub(crate) async fn visit(url: &str, dial: &Dialer) -> Result<Option<String>, String> {
    let rest = url.strip_prefix("http://").ok_or("the URL does not begin with `http://`")?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let failed = |error: std::io::Error| format!("`{authority}` cannot be opened: {error}");
    let stream = dial(authority.to_owned()).await.map_err(failed)?;
    let request = format!(
        "GET /{path} HTTP/1.1\r\nhost: {authority}\r\nuser-agent: {USER_AGENT}\r\naccept: text/html\r\n\r\n"
    );
    let connection = WireConnection::new(stream, authority.to_owned());
    let reply = connection.ask(request.as_bytes()).await.map_err(failed)?;
    let is_redirect = (300..400).contains(&reply.status);
    Ok(reply.header("location").filter(|_| is_redirect).map(str::to_owned))
}

/// Whether a request was made by the browser.
pub(crate) fn is_browser(entry: &Entry) -> bool {
    entry.header("user-agent") == Some(USER_AGENT)
}

const USER_AGENT: &str = "ridethrough-lab-browser";
const MOST_REDIRECTS: usize = 10;
