//! Finds the authorization server of an MCP server: which URL to ask next, and what its answer means.
//!
//! ```text
//! challenge ─► path ─► root ──► resource found ──► issuer by issuer ─► document ─► Found
//!    (protected resource metadata)     │                    └─ none usable ─► DiscoveryError
//!                                 not there
//!                                      └─► metadata at the origin ─► default paths (2025-03-26)
//! ```
//!
//! Only 200 with a JSON object that has the required members counts; any other answer leads to the next
//! candidate. A server in trouble does not count as one without documents.

mod candidates;
mod error;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use http::StatusCode;

use crate::address::{HttpUrl, check_resource};
use crate::challenge::Challenges;
use crate::http_answer::Fetched;
use crate::metadata::{AuthorizationServer, ProtectedResource};
use crate::words;

pub use error::{DiscoveryError, DiscoveryFailure, Tried, Verdict};
pub use settings::{DiscoverySettings, PkceRule, ResourceParameter};

/// A discovery that is under way.
///
/// Perform what [`Self::step`] says and hand the result to [`Self::handle`], until it ends.
#[derive(Clone, Debug)]
pub struct Discovery {
    server: HttpUrl,
    settings: DiscoverySettings,
    tried: Vec<Tried>,
    stage: Stage,
    /// How to treat a server that publishes nothing.
    without_documents: WithoutDocuments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WithoutDocuments {
    /// It counts as a server of revision 2025-03-26, with its endpoints at default paths.
    DefaultPaths,
    /// The discovery fails.
    NotFound,
}

#[derive(Clone, Debug)]
enum Stage {
    Ended(Result<Box<Found>, DiscoveryError>),
    /// The first candidate is being asked for the resource's metadata.
    Resource(VecDeque<HttpUrl>),
    /// The first candidate is being asked for the metadata of an authorization server.
    Server(Box<ServerSearch>),
}

#[derive(Clone, Debug)]
struct ServerSearch {
    resource: Option<ProtectedResource>,
    /// The issuer that is looked for.
    issuer: String,
    candidates: VecDeque<HttpUrl>,
    /// The issuers to try after this one.
    others: VecDeque<String>,
}

/// What to do next.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// The discovery failed.
    Failed(&'a DiscoveryError),
    /// The authorization server is known.
    Found(&'a Found),
    /// GET this URL, without credentials and without following redirects.
    Get(&'a HttpUrl),
}

/// The result of a discovery.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// What to send as `resource`, byte for byte; `None` if the server published no metadata, or the settings
    /// say not to send it.
    pub resource: Option<String>,
    /// The metadata of the MCP server.
    pub metadata: Option<ProtectedResource>,
    /// The authorization server.
    pub server: AuthorizationServer,
}

impl Found {
    /// Returns the scopes that the MCP server lists.
    pub fn scopes(&self) -> Option<&[String]> {
        self.metadata.as_ref()?.scopes_supported.as_deref()
    }
}

impl Discovery {
    /// Begins with the challenges of the MCP server to a request without a token or with a refused one.
    pub fn new(server: HttpUrl, challenges: &Challenges, settings: DiscoverySettings) -> Self {
        let mut discovery = Self {
            server,
            settings,
            tried: Vec::new(),
            stage: Stage::Resource(VecDeque::new()),
            without_documents: WithoutDocuments::DefaultPaths,
        };
        let candidates = discovery.resource_candidates(challenges);
        discovery.stage = Stage::Resource(candidates);
        discovery
    }

    /// Begins with an issuer that a person has named, such as the identity provider of an enterprise. Only a
    /// document of that issuer counts.
    pub fn of_issuer(issuer: HttpUrl) -> Self {
        let settings =
            DiscoverySettings { pkce: PkceRule::NotNeeded, ..DiscoverySettings::default() };
        let name = issuer.as_str().to_owned();
        let mut discovery = Self {
            server: issuer,
            settings,
            tried: Vec::new(),
            stage: Stage::Resource(VecDeque::new()),
            without_documents: WithoutDocuments::NotFound,
        };
        discovery.next_issuer(None, VecDeque::from([name]));
        discovery
    }

    /// Returns what to do next.
    pub fn step(&self) -> Step<'_> {
        match &self.stage {
            Stage::Ended(Ok(found)) => Step::Found(found),
            Stage::Ended(Err(error)) => Step::Failed(error),
            Stage::Resource(candidates) => Self::get(candidates),
            Stage::Server(search) => Self::get(&search.candidates),
        }
    }

    /// Handles the answer of this URL. News of a URL that is not being asked changes nothing.
    pub fn handle(&mut self, url: &HttpUrl, fetched: &Fetched) {
        if !matches!(self.step(), Step::Get(asked) if asked == url) {
            return;
        }
        match std::mem::replace(&mut self.stage, Stage::Resource(VecDeque::new())) {
            Stage::Ended(_) => {}
            Stage::Resource(candidates) => self.handle_resource(url, candidates, fetched),
            Stage::Server(search) => self.handle_server(url, *search, fetched),
        }
    }

    fn get(candidates: &VecDeque<HttpUrl>) -> Step<'_> {
        // A stage without a candidate is left at once.
        Step::Get(candidates.front().expect("a stage has a candidate"))
    }

    fn handle_resource(
        &mut self,
        url: &HttpUrl,
        mut candidates: VecDeque<HttpUrl>,
        fetched: &Fetched,
    ) {
        candidates.pop_front();
        let read = document(fetched)
            .and_then(|body| ProtectedResource::read(body).map_err(Verdict::NotADocument));
        match read {
            Ok(resource) => self.resource_found(resource),
            Err(verdict) => {
                self.tried.push(Tried::new(url, verdict));
                self.next_resource(candidates);
            }
        }
    }

    /// Takes the resource's metadata. Before anything else of it is used, a resource that is not this
    /// server's is refused, whatever other documents say.
    fn resource_found(&mut self, resource: ProtectedResource) {
        let is_configured = self.settings.resource.given() == Some(&resource.resource);
        if !is_configured && let Err(why) = check_resource(&resource.resource, &self.server) {
            return self.fail(DiscoveryFailure::ResourceMismatch {
                resource: words::shown(&resource.resource),
                server: self.server.to_string(),
                why,
            });
        }
        let mut issuers: Vec<String> = resource.authorization_servers.clone();
        // The sort is stable: the others stay in the server's order.
        issuers.sort_by_key(|issuer| Some(issuer) != self.settings.recorded_issuer.as_ref());
        issuers.truncate(MOST_ISSUERS);
        self.next_issuer(Some(resource), issuers.into());
    }

    fn next_resource(&mut self, candidates: VecDeque<HttpUrl>) {
        if !candidates.is_empty() {
            self.stage = Stage::Resource(candidates);
        } else if self.tried.iter().any(|tried| tried.verdict.is_transient()) {
            // Whether there is a document is unknown; a guess could lead to the wrong issuer.
            self.fail(DiscoveryFailure::Transient);
        } else {
            // With the slash, both spellings of the origin are accepted in the document.
            let issuer = format!("{}/", self.server.origin());
            self.next_issuer(None, VecDeque::from([issuer]));
        }
    }

    fn next_issuer(&mut self, resource: Option<ProtectedResource>, mut issuers: VecDeque<String>) {
        while let Some(issuer) = issuers.pop_front() {
            match self.server_candidates(&issuer) {
                Ok(candidates) => {
                    let search = ServerSearch { resource, issuer, candidates, others: issuers };
                    self.stage = Stage::Server(Box::new(search));
                    return;
                }
                Err(error) => self
                    .tried
                    .push(Tried { url: words::shown(&issuer), verdict: Verdict::Unusable(error) }),
            }
        }
        self.no_issuer_left(resource);
    }

    fn handle_server(&mut self, url: &HttpUrl, mut search: ServerSearch, fetched: &Fetched) {
        search.candidates.pop_front();
        match self.server_document(&search.issuer, fetched) {
            Ok(server) => self.found(search.resource, server),
            Err(verdict) => {
                self.tried.push(Tried::new(url, verdict));
                if search.candidates.is_empty() {
                    self.next_issuer(search.resource, search.others);
                } else {
                    self.stage = Stage::Server(Box::new(search));
                }
            }
        }
    }

    fn server_document(
        &self,
        issuer: &str,
        fetched: &Fetched,
    ) -> Result<AuthorizationServer, Verdict> {
        let body = document(fetched)?;
        let server = AuthorizationServer::read(body, &self.server, self.settings.near_hosts)
            .map_err(Verdict::NotADocument)?;
        self.check_issuer(issuer, &server.issuer)?;
        self.check_pkce(&server)?;
        Ok(server)
    }

    /// Compares issuers exactly, except for a slash at the end that the resource writes and the document does
    /// not.
    fn check_issuer(&self, expected: &str, found: &str) -> Result<(), Verdict> {
        let is_expected = expected == found || expected.strip_suffix('/') == Some(found);
        if is_expected || self.settings.trusted_issuer.as_deref() == Some(found) {
            return Ok(());
        }
        Err(Verdict::OtherIssuer { expected: words::shown(expected), found: words::shown(found) })
    }

    /// Checks for S256. A document that lists methods without it is never used: `assume_pkce` cannot override
    /// what a document denies.
    fn check_pkce(&self, server: &AuthorizationServer) -> Result<(), Verdict> {
        let methods = server.code_challenge_methods_supported.as_deref();
        let has_s256 = methods.is_some_and(|methods| methods.iter().any(|it| it == "S256"));
        match self.settings.pkce {
            PkceRule::NotNeeded => return Ok(()),
            _ if has_s256 => {}
            PkceRule::Assumed if methods.is_none() => {}
            _ => return Err(Verdict::NoPkce),
        }
        if server.authorization_endpoint.is_none() {
            return Err(Verdict::NotADocument(crate::metadata::DocumentError::Missing(
                "authorization_endpoint",
            )));
        }
        Ok(())
    }

    fn no_issuer_left(&mut self, resource: Option<ProtectedResource>) {
        let failure = DiscoveryFailure::of(&self.tried);
        let has_nothing = failure == DiscoveryFailure::NoMetadata
            && resource.is_none()
            && self.without_documents == WithoutDocuments::DefaultPaths;
        match AuthorizationServer::at_default_paths(&self.server).filter(|_| has_nothing) {
            Some(server) => self.found(None, server),
            None => self.fail(failure),
        }
    }

    fn found(&mut self, metadata: Option<ProtectedResource>, server: AuthorizationServer) {
        let published = metadata.as_ref().map(|metadata| metadata.resource.as_str());
        let resource = self.settings.resource.to_send(published).map(str::to_owned);
        self.stage = Stage::Ended(Ok(Box::new(Found { resource, metadata, server })));
    }

    fn fail(&mut self, failure: DiscoveryFailure) {
        let tried = std::mem::take(&mut self.tried);
        self.stage = Stage::Ended(Err(DiscoveryError { failure, tried }));
    }
}

/// Returns the body of an answer that may be a document.
fn document(fetched: &Fetched) -> Result<&[u8], Verdict> {
    match fetched {
        Fetched::Answer(answer) if answer.status == StatusCode::OK => Ok(&answer.body),
        Fetched::Answer(answer) if answer.is_transient() => Err(Verdict::InTrouble(answer.status)),
        Fetched::Answer(answer) => Err(Verdict::NotThere(answer.status)),
        Fetched::Failure(why) => Err(Verdict::Unreachable(words::shown(why))),
    }
}

/// The most issuers of a resource that are tried.
const MOST_ISSUERS: usize = 4;
