//! JSON Web Tokens of an issuer: who shows one is the principal that it names.
//!
//! ```text
//!   token ──form, algorithm by allow-list, issuer, audience, times──▶ signature, by a key of the issuer ──▶ principal
//! ```
//! Only signatures with public keys are known here: there is no way to take an unsigned token, or to take a
//! public key for a shared secret. Keys are fetched when they are first needed, when they are old, and when a
//! token names one that is unknown; never more often than every 30 s, whatever tokens are shown.

mod claims;
mod keys;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::{BoxFuture, FutureExt};
use tokio::time::{Instant, timeout};

use crate::verify::{Identified, TokenRefused, VerifyToken};

use claims::SignedToken;
pub use keys::Algorithm;
use keys::PublicKey;

/// What a token must be to be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtRules {
    /// The issuer, exactly as it stands in `iss`.
    pub issuer: String,
    /// For whom the token must be: `aud` has one of these.
    pub audience: Vec<String>,
    /// The algorithms that are taken.
    pub algorithms: Vec<Algorithm>,
    /// The claim whose values are the groups of the principal, such as `scope`.
    pub groups_claim: String,
}

/// Fetches the keys of an issuer: a JSON Web Key Set.
pub trait FetchKeys: Send + Sync + 'static {
    /// Fetches the set; or says in one line why there is none.
    fn fetch(&self) -> BoxFuture<'_, Result<Vec<u8>, String>>;
}

/// Takes tokens that an issuer has signed.
pub struct JwtVerifier {
    rules: JwtRules,
    fetch: Box<dyn FetchKeys>,
    known: Mutex<KnownKeys>,
    /// Held while keys are fetched.
    fetching: tokio::sync::Mutex<()>,
    clock: Box<dyn Fn() -> SystemTime + Send + Sync>,
}

/// The keys of the issuer, as they were last seen.
#[derive(Default)]
struct KnownKeys {
    keys: Vec<PublicKey>,
    /// When they were fetched.
    seen: Option<Instant>,
    /// When they were last asked for.
    tried: Option<Instant>,
    /// Why that failed.
    fault: Option<String>,
}

impl JwtVerifier {
    /// Takes tokens by these rules, with keys that are fetched like this.
    pub fn new(rules: JwtRules, fetch: impl FetchKeys) -> Self {
        Self {
            rules,
            fetch: Box::new(fetch),
            known: Mutex::default(),
            fetching: tokio::sync::Mutex::default(),
            clock: Box::new(SystemTime::now),
        }
    }

    /// Reads the time from here, for tests.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    async fn check(&self, text: &str) -> Result<Identified, TokenRefused> {
        let token = SignedToken::read(text).ok_or(TokenRefused::Unknown)?;
        let algorithm = token.algorithm(&self.rules.algorithms).map_err(wrong)?;
        let now = (self.clock)().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        // What costs nothing comes first, so that no token makes us ask the issuer that could not be good.
        token.check_claims(&self.rules, now).map_err(wrong)?;
        let key_id = token.key_id();
        let fits = |key: &PublicKey| key.fits(algorithm, key_id);
        if !self.is_known(fits) {
            self.renew().await;
        }
        let known = self.known();
        let mut fitting = known.keys.iter().filter(|key| fits(key)).take(MOST_TRIED).peekable();
        if fitting.peek().is_none() {
            return Err(match &known.fault {
                Some(fault) => TokenRefused::Unverifiable {
                    what: format!("the keys of the token's issuer cannot be had: {fault}"),
                    retry_after: PAUSE,
                },
                None => wrong("the token is signed with a key that its issuer does not name"),
            });
        }
        if !fitting.any(|key| key.has_signed(algorithm, token.signed_text(), token.signature())) {
            return Err(wrong("the signature of the token is wrong"));
        }
        token.identified(&self.rules.groups_claim).map_err(wrong)
    }

    /// Whether a key that fits is known, and the keys are not old.
    fn is_known(&self, fits: impl Fn(&PublicKey) -> bool) -> bool {
        let known = self.known();
        known.keys.iter().any(fits) && known.seen.is_some_and(|seen| seen.elapsed() < OLD)
    }

    /// Fetches the keys, unless that was just tried. Old keys stay if there are no new ones.
    async fn renew(&self) {
        let _one_at_a_time = self.fetching.lock().await;
        {
            let mut known = self.known();
            if known.tried.is_some_and(|tried| tried.elapsed() < PAUSE) {
                return;
            }
            known.tried = Some(Instant::now());
        }
        let fetched = timeout(LONGEST, self.fetch.fetch()).await;
        let fetched = fetched.unwrap_or_else(|_| Err(format!("no answer within {LONGEST:?}")));
        let read = fetched.and_then(|text| {
            keys::read(&text).ok_or_else(|| "the answer is no set of keys".to_owned())
        });
        let mut known = self.known();
        match read {
            Ok(keys) => {
                (known.keys, known.seen, known.fault) = (keys, Some(Instant::now()), None);
            }
            Err(fault) => known.fault = Some(fault),
        }
    }

    fn known(&self) -> MutexGuard<'_, KnownKeys> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VerifyToken for JwtVerifier {
    fn verify<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Identified, TokenRefused>> {
        self.check(token).boxed()
    }
}

impl fmt::Debug for JwtVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtVerifier").field("rules", &self.rules).finish_non_exhaustive()
    }
}

fn wrong(what: &str) -> TokenRefused {
    TokenRefused::Wrong { what: what.to_owned() }
}

/// The shortest time between two requests for keys.
const PAUSE: Duration = Duration::from_secs(30);
/// After this time keys are fetched again, so that one that was withdrawn is not taken for long.
const OLD: Duration = Duration::from_secs(600);
/// How long a request for keys may take.
const LONGEST: Duration = Duration::from_secs(10);
/// How many keys are tried for a token that names none.
const MOST_TRIED: usize = 8;

#[cfg(test)]
mod tests;
