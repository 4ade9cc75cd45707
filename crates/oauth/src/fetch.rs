//! One request to an authorization server, or for its documents: a document, a registration, tokens.
//!
//! A request is sent once, unless it was refused for its form. It follows no redirect, and carries no header
//! or token of the client's requests to its MCP server. An answer is read within 10 s and up to 1 MiB. No
//! server may make us connect to a network that is closer to this machine than the server itself.

use std::future::poll_fn;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use ridethrough::Network;
use ridethrough::probe::Question;
use ridethrough::transport::Bytes;
use ridethrough_oauth_core::address::{HostKind, NearHosts, kind_of_ip};
use ridethrough_oauth_core::challenge::Challenges;
use ridethrough_oauth_core::store::GrantRecord;
use ridethrough_oauth_core::token_request::TokenRequest;
use ridethrough_oauth_core::{Fetched, HttpAnswer, HttpUrl};
use tokio::sync::OnceCell;
use tokio::time::timeout;

/// Performs requests on behalf of one MCP server.
#[derive(Debug)]
pub(crate) struct Fetch {
    network: Network,
    server: HttpUrl,
    /// Whether requests may go to hosts that are closer than the server.
    allows_near: AtomicBool,
    /// How close the server is, once that was looked up.
    distance: OnceCell<HostKind>,
}

impl Fetch {
    pub(crate) fn new(network: Network, server: HttpUrl, near: NearHosts) -> Self {
        let allows_near = AtomicBool::new(near == NearHosts::Allowed);
        Self { network, server, allows_near, distance: OnceCell::new() }
    }

    /// Allows hosts that are closer than the server, if the person allowed them when this login was made.
    pub(crate) fn allow_near_for(&self, record: &GrantRecord) {
        self.allows_near.fetch_or(record.allows_near_hosts, Relaxed);
    }

    /// GETs a document.
    pub(crate) async fn get(&self, url: &HttpUrl) -> Fetched {
        let mut question = Question::get();
        question.headers.insert(ACCEPT, JSON);
        self.ask(url, question).await
    }

    /// POSTs a form to an endpoint of the authorization server. Sends it once more, with the client id, if
    /// the server says that the id is missing.
    pub(crate) async fn post(&self, request: &TokenRequest) -> Fetched {
        let fetched = self.post_once(request).await;
        let again = match &fetched {
            Fetched::Answer(answer) => request.with_id_if_missing(answer),
            Fetched::Failure(_) => None,
        };
        match again {
            Some(request) => self.post_once(&request).await,
            None => fetched,
        }
    }

    async fn post_once(&self, request: &TokenRequest) -> Fetched {
        let body = request.body().expose().as_bytes().to_vec();
        let question = question(request.headers(), body);
        match self.ask(request.url(), question).await {
            Fetched::Answer(answer) => Fetched::Answer(request.mask_refusal(answer)),
            failure @ Fetched::Failure(_) => failure,
        }
    }

    /// POSTs JSON.
    pub(crate) async fn post_json(&self, url: &HttpUrl, body: String) -> Fetched {
        let headers = [(ACCEPT, JSON), (CONTENT_TYPE, JSON)].into_iter().collect();
        self.ask(url, question(headers, body.into_bytes())).await
    }

    /// Returns the challenges of the MCP server to a request without a token; none if it does not answer. The
    /// request is a ping, which changes nothing on a server that wants no token.
    pub(crate) async fn challenges(&self) -> Challenges {
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        let headers = [(ACCEPT, accept), (CONTENT_TYPE, JSON)].into_iter().collect();
        let question = question(headers, PING.as_bytes().to_vec());
        let asking = async {
            let probe = self.network.probe(self.server.as_str()).ok()?;
            let mut line = probe.connect().await.ok()?;
            let found = line.ask(question).await.ok()?;
            let is_refused =
                [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&found.head.status);
            is_refused.then(|| Challenges::read(&found.headers))
        };
        timeout(TIME, asking).await.ok().flatten().unwrap_or_default()
    }

    async fn ask(&self, url: &HttpUrl, question: Question) -> Fetched {
        let asked = timeout(TIME, self.ask_in_time(url, question)).await;
        let answer = asked.unwrap_or_else(|_| Err(format!("no answer within {TIME:?}")));
        match &answer {
            Ok(answer) => tracing::debug!(%url, status = answer.status.as_u16(), "answered"),
            Err(why) => tracing::debug!(%url, why, "not answered"),
        }
        answer.map_or_else(Fetched::Failure, Fetched::Answer)
    }

    async fn ask_in_time(&self, url: &HttpUrl, question: Question) -> Result<HttpAnswer, String> {
        let network = self.network_to_others().await;
        let probe = network.probe(url.as_str()).map_err(|error| error.to_string())?;
        let mut line = probe.connect().await.map_err(|failure| failure.to_string())?;
        let mut found = line.ask(question).await.map_err(|failure| failure.to_string())?;
        let mut answer = HttpAnswer::new(found.head.status, Vec::new());
        answer.content_type = text(&found.headers, CONTENT_TYPE.as_str());
        answer.dpop_nonce = text(&found.headers, "dpop-nonce");
        answer.retry_after = found.head.retry_after;
        while let Some(chunk) = poll_fn(|context| found.body.poll_chunk(context)).await {
            let chunk = chunk.map_err(|failure| failure.to_string())?;
            if answer.body.len() + chunk.len() > HttpAnswer::LONGEST_BODY {
                return Err(format!(
                    "the answer is longer than {} bytes",
                    HttpAnswer::LONGEST_BODY
                ));
            }
            answer.body.extend_from_slice(&chunk);
        }
        Ok(answer)
    }

    async fn network_to_others(&self) -> Network {
        if self.allows_near.load(Relaxed) {
            return self.network.clone();
        }
        let closest = *self.distance.get_or_init(|| distance(&self.server)).await;
        self.network.clone().only_to(move |ip| kind_of_ip(ip) <= closest)
    }
}

/// Returns how close a server is. It is looked up, because the name of a private host need not show that it
/// is private.
///
/// Of several addresses the farthest counts, so that a public server does not become a private one by naming
/// a private address among its own.
async fn distance(server: &HttpUrl) -> HostKind {
    let host = server.host().trim_start_matches('[').trim_end_matches(']');
    let port = server.port().unwrap_or_default();
    let looked_up = timeout(LOOK_UP, tokio::net::lookup_host((host, port))).await;
    // Behind a proxy, names may not be known here.
    let Ok(Ok(addresses)) = looked_up else { return server.host_kind() };
    let farthest = addresses.map(|address| kind_of_ip(address.ip())).min();
    farthest.unwrap_or(HostKind::Public).max(server.host_kind())
}

fn question(headers: HeaderMap, body: Vec<u8>) -> Question {
    let mut question = Question::of(Method::POST, Bytes::from(body));
    question.headers = headers;
    question
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

const TIME: Duration = Duration::from_secs(10);
const LOOK_UP: Duration = Duration::from_secs(2);
const PING: &str = r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#;
const JSON: HeaderValue = HeaderValue::from_static("application/json");

#[cfg(test)]
mod tests {
    use ridethrough::Client;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_public_server_leads_nobody_to_this_machine() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://localhost:{}/", listener.local_addr().unwrap().port());

        let fetched = fetch("https://203.0.113.5/mcp").get(&HttpUrl::parse(&url).unwrap()).await;

        assert!(
            matches!(&fetched, Fetched::Failure(why) if why.contains("address")),
            "{fetched:?}"
        );
        let accepted = timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(accepted.is_err(), "it was connected to");
    }

    #[tokio::test]
    async fn a_redirect_is_an_answer_and_is_not_followed() {
        let url = answering("HTTP/1.1 302 Found\r\nlocation: /other\r\n\r\n".to_owned()).await;

        let fetched = fetch("http://127.0.0.1/mcp").get(&url).await;

        assert!(matches!(&fetched, Fetched::Answer(it) if it.status == 302), "{fetched:?}");
    }

    #[tokio::test]
    async fn an_answer_without_end_is_none() {
        let body = "x".repeat(HttpAnswer::LONGEST_BODY + 1);
        let url = answering(format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}")).await;

        let fetched = fetch("http://127.0.0.1/mcp").get(&url).await;

        assert!(matches!(&fetched, Fetched::Failure(why) if why.contains("longer")), "{fetched:?}");
    }

    fn fetch(server: &str) -> Fetch {
        let network = Client::builder(server).no_proxy().network();
        Fetch::new(network, HttpUrl::parse(server).unwrap(), NearHosts::Refused)
    }

    /// Starts a server that answers one request with these bytes, and any other with nothing.
    async fn answering(bytes: String) -> HttpUrl {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 4096];
            let _ = stream.read(&mut head).await;
            let _ = stream.write_all(bytes.as_bytes()).await;
        });
        HttpUrl::parse(&url).unwrap()
    }
}
