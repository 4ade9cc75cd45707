//! The transport over HTTP/1.1 and HTTP/2: one request out, one answer in.
//!
//! It writes a request as HTTP, sends it on a connection of the pool and reads the head of the answer.
//! `proof` says what each failure proves. It never follows a redirect and never retries, with one exception
//! (RFC 9449, 9): a request whose token is bound to a key is sent a second time if the server refused its
//! proof only for want of a nonce. The server has not run it, and only the key can make another proof.

mod body;
mod cookies;
mod head;
mod proof;
mod request;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use ridethrough_core::head::Content;
use ridethrough_core::{AnswerHead, Cause, Failure, Generation, Outgoing};

use crate::credentials::{ProofOfPossession, ProofVerdict, Token};
use crate::drain::{self, Bounds};
use crate::endpoint::Endpoint;
use crate::pool::{Http1, Http2Stream, Lease, Pool};
use crate::transport::{Recall, Reply, Transport, TransportRequest};

pub(crate) use body::poll_data;
pub(crate) use cookies::Cookies;
pub use head::{keep_alive, read_head};
pub(crate) use proof::of_send;
pub use request::checked_header;

use body::{Http1Body, Http2Body};

/// Streamable HTTP to one endpoint.
pub struct Http {
    shared: Arc<HttpShared>,
}

/// What all requests of one client share.
struct HttpShared {
    endpoint: Endpoint,
    host: HeaderValue,
    headers: HeaderMap,
    cookies: Cookies,
    pool: Pool,
}

impl Http {
    /// Sends these headers with each request, on connections of this pool.
    pub fn new(endpoint: Endpoint, headers: HeaderMap, pool: Pool) -> Self {
        let cookies = Cookies::default();
        let host = HeaderValue::try_from(endpoint.authority());
        let host = host.expect("what stands in a URL as host and port is a header too");
        Self { shared: Arc::new(HttpShared { endpoint, host, headers, cookies, pool }) }
    }
}

/// What reading an answer needs to know of its request, and what the answer says about its proof.
struct SentRequest {
    generation: Generation,
    path: Option<PathAndQuery>,
    proof: Option<Arc<dyn ProofOfPossession>>,
    verdict: ProofVerdict,
}

impl Transport for Http {
    fn perform(&self, request: TransportRequest) -> BoxFuture<'static, Result<Reply, Failure>> {
        let shared = self.shared.clone();
        Box::pin(async move {
            match request {
                TransportRequest::Connect => shared.pool.connect().await.map(|()| Reply::Connected),
                TransportRequest::Request { outgoing, token, recall } => {
                    shared.ask(outgoing, token, &recall).await
                }
            }
        })
    }
}

impl HttpShared {
    async fn ask(
        &self,
        outgoing: Outgoing,
        token: Option<Token>,
        recall: &Recall,
    ) -> Result<Reply, Failure> {
        let again = token.as_ref().and_then(Token::proof).map(|_| outgoing.clone());
        let (reply, verdict) = self.ask_once(outgoing, token.as_ref(), recall).await?;
        match (again, verdict) {
            (Some(outgoing), ProofVerdict::WantsNonce) => {
                if let Reply::Answered { body, .. } = reply {
                    drain::drain(body, REST).await;
                }
                let answered = self.ask_once(outgoing, token.as_ref(), recall).await;
                answered.map(|(reply, _)| reply)
            }
            _ => Ok(reply),
        }
    }

    async fn ask_once(
        &self,
        outgoing: Outgoing,
        token: Option<&Token>,
        recall: &Recall,
    ) -> Result<(Reply, ProofVerdict), Failure> {
        let (generation, lane, route) = (outgoing.to.generation, outgoing.lane, outgoing.route);
        let request = request::build(self, outgoing, token)
            .ok_or_else(|| Failure::unknown(Cause::Unreadable).with_detail(NO_HEADER))?;
        let path = request.uri().path_and_query().cloned();
        let proof = token.and_then(Token::proof).cloned();
        let mut asked = SentRequest { generation, path, proof, verdict: ProofVerdict::Settled };
        let lease = self.pool.lease(lane, route).await?;
        if let Some(withheld) = recall.withheld() {
            match lease {
                Lease::Http1(connection) => self.pool.give_back(connection),
                // Dropping it gives its place on the connection back.
                Lease::Http2(_) => {}
            }
            return Err(withheld);
        }
        let reply = match lease {
            Lease::Http1(connection) => {
                let request = request::for_http1(request, self.host.clone());
                self.ask_http1(connection, request, &mut asked).await?
            }
            Lease::Http2(stream) => self.ask_http2(stream, request, &mut asked).await?,
        };
        Ok((reply, asked.verdict))
    }

    async fn ask_http1(
        &self,
        mut connection: Http1,
        request: Request<Full<Bytes>>,
        asked: &mut SentRequest,
    ) -> Result<Reply, Failure> {
        let response = match connection.send(request).await {
            Ok(response) => response,
            Err(unanswered) => {
                let failure = proof::of_http1(unanswered);
                if matches!(failure.cause, Cause::Closed | Cause::Reset) {
                    self.pool.lost(&connection);
                }
                return Err(failure);
            }
        };
        self.pool.answered(&connection);
        if let Some(time) = keep_alive(response.headers()) {
            connection.rest_at_most(time);
        }
        let coding = head::coding(response.headers());
        let (mut head, incoming) = self.read_head(response, asked);
        head.connection = Some(connection.id());
        let body = Box::new(Http1Body::new(incoming, connection, self.pool.clone()));
        let capacity = Some(self.pool.capacity());
        plain(Reply::Answered { head, body, capacity }, coding)
    }

    async fn ask_http2(
        &self,
        mut stream: Http2Stream,
        request: Request<Bytes>,
        asked: &mut SentRequest,
    ) -> Result<Reply, Failure> {
        let response = match stream.send(request).await {
            Ok(response) => response,
            Err(error) => {
                let failure = proof::of_http2(error, stream.refusal());
                if failure.cause != Cause::StreamRefused {
                    self.pool.forget(&stream);
                }
                return Err(failure);
            }
        };
        let capacity = Some(stream.capacity());
        let coding = head::coding(response.headers());
        let (mut head, incoming) = self.read_head(response, asked);
        head.connection = Some(stream.connection());
        let body = Box::new(Http2Body::new(incoming, stream, self.pool.clone()));
        plain(Reply::Answered { head, body, capacity }, coding)
    }

    fn read_head(
        &self,
        response: Response<Incoming>,
        asked: &mut SentRequest,
    ) -> (AnswerHead, Incoming) {
        let (parts, incoming) = response.into_parts();
        self.cookies.keep(asked.generation, &parts.headers);
        if let Some(proof) = &asked.proof {
            asked.verdict = proof.judge(parts.status, &parts.headers);
        }
        let path = asked.path.as_ref().map_or("/", PathAndQuery::as_str);
        (read_head(&parts, &self.endpoint, path), incoming)
    }
}

/// Returns an answer whose body can be read. Of an answer with a content coding only the head counts: a
/// refusal is still a refusal, and anything else is unreadable.
fn plain(reply: Reply, coding: Option<String>) -> Result<Reply, Failure> {
    let (mut head, capacity, coding) = match (reply, coding) {
        (Reply::Answered { head, capacity, .. }, Some(coding))
            if head.content != Content::Nothing =>
        {
            (head, capacity, coding)
        }
        (reply, _) => return Ok(reply),
    };
    if head.status.is_success() {
        let detail = format!("the answer is coded as `{coding}`, which was not asked for");
        return Err(Failure::unknown(Cause::Unreadable).with_detail(detail));
    }
    head.content = Content::Other;
    let note = format!("[coded as `{coding}`, which was not asked for]");
    match Reply::whole(head, note) {
        Reply::Answered { head, body, .. } => Ok(Reply::Answered { head, body, capacity }),
        Reply::Connected => Ok(Reply::Connected),
    }
}

/// What is spent on the rest of a refusal whose request is sent again.
const REST: Bounds = Bounds { within: Duration::from_secs(1), bytes: 64 << 10 };
const NO_HEADER: &str = "the server gave a name or path to repeat that HTTP cannot carry";

#[cfg(test)]
mod tests;
