//! The MCP server and its authorization server, with the killer that waits at the token endpoint.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use ridethrough_testkit::http::{Answer, Connection, Request, parameter, read};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};

use crate::authorization::Authorization;
use crate::process::{Crew, ProcessNumber};

/// Both servers, on one port.
#[derive(Clone)]
pub(crate) struct Server {
    origin: Arc<str>,
    began: Instant,
    state: Arc<Mutex<ServerState>>,
}

struct ServerState {
    authorization: Authorization,
    /// Calls that were answered, even if the caller was dead by then.
    answered: u64,
    /// Requests with a token that had ended.
    refused: u64,
    ambush: Option<Ambush>,
    crew: Option<Crew>,
}

/// When the next process that refreshes is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ambush {
    /// When the answer has left: the process may or may not have read and stored it.
    AfterAnswer,
    /// When its token was replaced, and before the answer: the answer is lost.
    BeforeAnswer,
}

/// What the servers recorded.
pub(crate) struct Seen {
    pub(crate) answered: u64,
    pub(crate) refused: u64,
    pub(crate) logins: u64,
    pub(crate) ended: u64,
    pub(crate) sent: Vec<crate::authorization::Sent>,
}

impl Server {
    /// Listens on a port that the system chooses.
    pub(crate) async fn start(authorization: Authorization, began: Instant) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let origin = format!("http://{}", listener.local_addr()?).into();
        let state =
            ServerState { authorization, answered: 0, refused: 0, ambush: None, crew: None };
        let server = Self { origin, began, state: Arc::new(Mutex::new(state)) };
        tokio::spawn(server.clone().accept(listener));
        Ok(server)
    }

    pub(crate) fn mcp_url(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    /// Kills the next process of the crew that refreshes.
    pub(crate) fn lie_in_wait(&self, ambush: Ambush, crew: &Crew) {
        let mut state = self.state();
        state.ambush = Some(ambush);
        state.crew = Some(crew.clone());
    }

    /// Stops killing until the next order.
    pub(crate) fn forget_ambush(&self) {
        self.state().ambush = None;
    }

    pub(crate) fn seen(&self) -> Seen {
        let state = self.state();
        Seen {
            answered: state.answered,
            refused: state.refused,
            logins: state.authorization.logins,
            ended: state.authorization.ended,
            sent: state.authorization.sent.clone(),
        }
    }

    /// Whether a refresh token was sent more than once.
    pub(crate) fn has_seen_a_repetition(&self) -> bool {
        let state = self.state();
        let mut known = std::collections::BTreeSet::new();
        !state.authorization.sent.iter().all(|sent| known.insert(&sent.token))
    }

    /// Returns how many logins a second use of a refresh token has ended.
    pub(crate) fn ended(&self) -> u64 {
        self.state().authorization.ended
    }

    async fn accept(self, listener: TcpListener) {
        loop {
            let Ok((stream, peer)) = listener.accept().await else {
                // The process has too many open files: some will be closed.
                sleep(Duration::from_millis(10)).await;
                continue;
            };
            let server = self.clone();
            // A process that was killed may leave at any point.
            tokio::spawn(async move { drop(server.serve(stream, peer.ip()).await) });
        }
    }

    async fn serve(self, stream: TcpStream, peer: IpAddr) -> Result<()> {
        let mut connection = Connection::new(stream);
        let sender = ProcessNumber::of(peer);
        while let Some(request) = read(&mut connection).await? {
            match request.path() {
                "/token" => {
                    let form = String::from_utf8_lossy(&request.body);
                    let answer = self.token(&form, sender);
                    let is_refresh = form.contains("grant_type=refresh_token");
                    let ambush = is_refresh.then(|| self.state().ambush.take()).flatten();
                    if ambush == Some(Ambush::BeforeAnswer) {
                        self.kill(sender);
                    }
                    answer.write(&mut connection).await?;
                    if ambush == Some(Ambush::AfterAnswer) {
                        self.kill(sender);
                    }
                }
                "/mcp" => self.mcp(&request).await.write(&mut connection).await?,
                path => self.document(path, &request).write(&mut connection).await?,
            }
        }
        Ok(())
    }

    fn kill(&self, sender: ProcessNumber) {
        let crew = self.state().crew.clone();
        if let Some(crew) = crew {
            crew.kill(sender);
        }
    }

    fn token(&self, form: &str, by: ProcessNumber) -> Answer {
        let now = self.began.elapsed();
        let form = |name| parameter(form, name).unwrap_or_default();
        let mut state = self.state();
        let granted = match form("grant_type").as_str() {
            "authorization_code" => state.authorization.exchange(&form("code"), now),
            "refresh_token" => state.authorization.renew(&form("refresh_token"), by, now),
            _ => None,
        };
        match granted {
            Some(granted) => Answer::json(200, &granted),
            None => Answer::json(400, &json!({"error": "invalid_grant"})),
        }
    }

    async fn mcp(&self, request: &Request) -> Answer {
        if request.method != "POST" {
            return Answer::empty(405);
        }
        if !self.lets_in(request) {
            let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", self.origin);
            let challenge = format!("Bearer resource_metadata=\"{metadata}\"");
            return Answer::empty(401).with("www-authenticate", &challenge);
        }
        let message = request.json();
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "races", "version": "1"},
            }),
            Some("tools/call") => {
                sleep(WORK).await;
                self.state().answered += 1;
                json!({"content": [{"type": "text", "text": "done"}]})
            }
            _ if message["id"].is_null() => return Answer::empty(202),
            _ => json!({}),
        };
        Answer::json(200, &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    }

    fn lets_in(&self, request: &Request) -> bool {
        let now = self.began.elapsed();
        let mut state = self.state();
        let token = request.bearer();
        let is_good = token.is_some_and(|token| state.authorization.is_good(token, now));
        state.refused += u64::from(!is_good && token.is_some());
        is_good
    }

    fn document(&self, path: &str, request: &Request) -> Answer {
        let origin = &self.origin;
        match path {
            "/.well-known/oauth-protected-resource/mcp" => {
                let resource = self.mcp_url();
                let document = json!({"resource": resource, "authorization_servers": [**origin]});
                Answer::json(200, &document)
            }
            "/.well-known/oauth-authorization-server" => {
                let document = json!({
                    "issuer": **origin,
                    "authorization_endpoint": format!("{origin}/authorize"),
                    "token_endpoint": format!("{origin}/token"),
                    "code_challenge_methods_supported": ["S256"],
                });
                Answer::json(200, &document)
            }
            "/authorize" => self.authorize(&request.target),
            _ => Answer::empty(404),
        }
    }

    fn authorize(&self, target: &str) -> Answer {
        let query = target.split_once('?').unwrap_or_default().1;
        let [uri, given] =
            ["redirect_uri", "state"].map(|name| parameter(query, name).unwrap_or_default());
        let code = self.state().authorization.consent();
        Answer::empty(302).with("location", &format!("{uri}?code={code}&state={given}"))
    }

    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a call takes: about half as long as a token lives, so that many are under way when it ends.
const WORK: Duration = Duration::from_secs(1);
