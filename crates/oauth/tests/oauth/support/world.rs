//! The servers of a test, their switches, and what they were sent.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::http::{Answer, Request, serve};
use super::possession::Proofs;
use super::signer::Signer;
use super::{TestClock, authorization, mcp};

/// An MCP server and two authorization servers.
pub(crate) struct World {
    /// The clock of the world's clients.
    pub(crate) clock: TestClock,
    state: Arc<Mutex<State>>,
}

/// A request that a server was sent.
#[derive(Clone, Debug)]
pub(crate) struct Logged {
    /// The server: `mcp`, `one` or `two`.
    pub(crate) site: &'static str,
    pub(crate) request: Request,
}

/// What happens to a refresh token after its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rotation {
    /// It stays valid, and the answer leaves it out.
    None,
    /// It is replaced; sending it again ends the grant.
    Strict,
}

/// What the callback says about the issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Iss {
    Missing,
    Right,
    Wrong,
}

pub(crate) struct State {
    pub(crate) mcp: String,
    pub(crate) one: String,
    pub(crate) two: String,
    /// The issuer that the MCP server names.
    pub(crate) issuer: &'static str,
    pub(crate) expires_in: u64,
    pub(crate) rotation: Rotation,
    pub(crate) iss: Iss,
    pub(crate) advertises_iss: bool,
    pub(crate) denies_login: bool,
    pub(crate) refuses_all_tokens: bool,
    /// Whether the MCP server also serves requests without a token.
    pub(crate) wants_no_token: bool,
    pub(crate) registers: bool,
    pub(crate) client_id_metadata: bool,
    pub(crate) knows_revocation: bool,
    /// Whether the MCP server accepts identity tokens, and no others.
    pub(crate) wants_id_token: bool,
    /// The token endpoint that the first server names, if not its own.
    pub(crate) foreign_token_endpoint: Option<String>,
    /// The answers to the next refreshes, in place of the right ones.
    pub(crate) refresh_answers: VecDeque<Answer>,
    pub(crate) refresh_delay: Duration,
    /// How often a device is told to wait.
    pub(crate) device_pending: u32,
    pub(crate) clients: BTreeMap<String, &'static str>,
    pub(crate) codes: BTreeMap<String, BTreeMap<String, String>>,
    /// The valid access tokens, with their scope.
    pub(crate) access: BTreeMap<String, String>,
    /// The refresh tokens: whether each is valid, and its scope.
    pub(crate) refresh: BTreeMap<String, (bool, String)>,
    /// The scopes that the MCP server publishes.
    pub(crate) scopes: &'static [&'static str],
    /// The scope that the MCP server asks for when it refuses.
    pub(crate) challenge_scope: Option<&'static str>,
    /// The demands on proofs.
    pub(crate) proofs: Proofs,
    /// Whether the MCP server wants another nonce each time.
    pub(crate) refuses_every_nonce: bool,
    /// The bound tokens of either kind, with their keys.
    pub(crate) bound: BTreeMap<String, String>,
    /// The kind of token that an identity token is exchanged for.
    pub(crate) exchanges_for: &'static str,
    /// Signs access tokens; without one they are names.
    pub(crate) signer: Option<Signer>,
    /// The tools that the MCP server lists.
    pub(crate) tools: &'static [&'static str],
    /// What the last login was for.
    pub(crate) resource: String,
    pub(crate) number: u64,
    pub(crate) log: Vec<Logged>,
}

impl World {
    pub(crate) async fn start() -> Self {
        let state = Arc::new(Mutex::new(State::new()));
        let site = |site: &'static str,
                    answer: fn(&mut State, &'static str, &Request) -> Answer| {
            let state = state.clone();
            serve(Arc::new(move |request| {
                let mut state = state.lock().unwrap();
                state.log.push(Logged { site, request: request.clone() });
                answer(&mut state, site, &request)
            }))
        };
        let mcp = site("mcp", mcp::answer).await;
        let one = site("one", authorization::answer).await;
        let two = site("two", authorization::answer).await;
        {
            let mut state = state.lock().unwrap();
            (state.mcp, state.one, state.two) = (mcp, one, two);
        }
        Self { clock: TestClock::default(), state }
    }

    pub(crate) fn mcp_url(&self) -> String {
        format!("{}/mcp", self.state().mcp)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Returns the forms that were sent to the token endpoints with this grant.
    pub(crate) fn token_forms(&self, grant: &str) -> Vec<BTreeMap<String, String>> {
        let state = self.state();
        let at_token = state.log.iter().filter(|it| it.request.path == "/token");
        let forms = at_token.map(|it| it.request.form());
        forms.filter(|form| form.get("grant_type").is_some_and(|it| it == grant)).collect()
    }

    /// Returns how often this path was requested at this site.
    pub(crate) fn count(&self, site: &str, path: &str) -> usize {
        let state = self.state();
        state.log.iter().filter(|it| it.site == site && it.request.path == path).count()
    }

    /// Invalidates every access token that was issued so far, some time after it was issued: one that is
    /// refused at once is not renewed.
    pub(crate) fn end_access_tokens(&self) {
        self.clock.pass(Duration::from_secs(100));
        self.state().access.clear();
    }

    /// Returns everything that this site was sent.
    pub(crate) fn sent_to(&self, site: &str) -> String {
        let state = self.state();
        let sent = state.log.iter().filter(|it| it.site == site);
        sent.map(|it| format!("{:?}\n", it.request)).collect()
    }
}

impl State {
    fn new() -> Self {
        Self {
            mcp: String::new(),
            one: String::new(),
            two: String::new(),
            issuer: "one",
            expires_in: 3600,
            rotation: Rotation::Strict,
            iss: Iss::Missing,
            advertises_iss: false,
            denies_login: false,
            refuses_all_tokens: false,
            wants_no_token: false,
            registers: true,
            client_id_metadata: false,
            knows_revocation: true,
            wants_id_token: false,
            foreign_token_endpoint: None,
            refresh_answers: VecDeque::new(),
            refresh_delay: Duration::ZERO,
            device_pending: 0,
            clients: BTreeMap::new(),
            codes: BTreeMap::new(),
            access: BTreeMap::new(),
            refresh: BTreeMap::new(),
            scopes: &["mcp"],
            challenge_scope: None,
            proofs: Proofs::default(),
            refuses_every_nonce: false,
            bound: BTreeMap::new(),
            exchanges_for: "urn:ietf:params:oauth:token-type:id-jag",
            signer: None,
            tools: &[],
            resource: String::new(),
            number: 0,
            log: Vec::new(),
        }
    }

    pub(crate) fn origin(&self, site: &str) -> String {
        if site == "one" { self.one.clone() } else { self.two.clone() }
    }

    /// Returns a new name, which contains the word and so is easy to find where it should not be.
    pub(crate) fn name(&mut self, word: &str) -> String {
        self.number += 1;
        format!("c4nary-{word}-{}", self.number)
    }
}
