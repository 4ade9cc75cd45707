//! The tokens that a client sends, and the hook that provides better ones.
//!
//! A token never prints itself, is wiped from memory when it is dropped, and is sent to the client's own
//! endpoint only. The hook is asked once for all calls whose token was refused.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use secrecy::{ExposeSecret, SecretString};

pub use ridethrough_core::NoCredentials;
pub use ridethrough_core::head::{Challenge, Demand};

/// A source of tokens.
///
/// ```
/// use ridethrough_transport::credentials::{Credentials, NoCredentials, Refused, Token};
/// use ridethrough_transport::BoxFuture;
///
/// struct Vault;
///
/// impl Credentials for Vault {
///     fn token<'a>(
///         &'a self,
///         refused: Option<Refused<'a>>,
///     ) -> BoxFuture<'a, Result<Option<Token>, NoCredentials>> {
///         Box::pin(async move {
///             let text = match refused {
///                 None => read_from_vault().await,
///                 Some(_) => refresh().await.ok_or(NoCredentials::because("the vault is sealed"))?,
///             };
///             Token::bearer(text).map(Some).map_err(|error| NoCredentials::because(error.to_string()))
///         })
///     }
/// }
/// # async fn read_from_vault() -> String { "t".into() }
/// # async fn refresh() -> Option<String> { None }
/// ```
pub trait Credentials: Send + Sync + 'static {
    /// Returns the token to use.
    ///
    /// It is first called before anything is sent, with `refused` as `None`. `Ok(None)` or an error then
    /// means that requests go out without a token until the server asks for one.
    ///
    /// Later, `refused` names the token that the server did not accept, and what the server asked for. Return
    /// a better token, or an error: then the calls that wait end as `Unauthorized`, and the next call that is
    /// refused asks again.
    ///
    /// At most one call of this method for a better token is open at a time, and at most one for more scope
    /// (the challenge has a [`missing_scope`](Challenge::missing_scope)). For a better token all calls of the
    /// client wait; for more scope only those that were refused for it. They wait for 30 seconds; a token
    /// that comes later serves the next ones.
    fn token<'a>(
        &'a self,
        refused: Option<Refused<'a>>,
    ) -> BoxFuture<'a, Result<Option<Token>, NoCredentials>>;

    /// Waits for a token that takes the place of the one in force before a server refuses it.
    ///
    /// It is waited for after the first answer of [`Self::token`] and again after each token that it
    /// brings, never while a better token is asked for. The future may be dropped at any time. By default it
    /// never ends.
    fn renewed(&self) -> BoxFuture<'_, Token> {
        Box::pin(std::future::pending())
    }

    /// Waits until nothing is under way that must not be interrupted.
    ///
    /// `Client::close` waits for it, for 15 s at most: a program that ends before the
    /// answer to a refresh is stored may have lost its login. By default there is nothing to wait for.
    fn finish(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A token that the server did not accept.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Refused<'a> {
    /// The token; `None` if none was sent.
    pub token: Option<&'a Token>,
    /// What the server asked for.
    pub challenge: Option<&'a Challenge>,
    /// Whether the server may take the token all the same: it refused one request alone, by a 401 without a
    /// challenge, and no harmless request. Servers pass on the 401 of a service behind a tool. A person should
    /// not be asked to log in for it.
    pub is_suspicion: bool,
}

impl<'a> Refused<'a> {
    /// Describes a refusal to a hook.
    pub const fn new(
        token: Option<&'a Token>,
        challenge: Option<&'a Challenge>,
        is_suspicion: bool,
    ) -> Self {
        Self { token, challenge, is_suspicion }
    }
}

/// A token as it is sent in the `Authorization` header: a bearer token, or credentials of another scheme.
#[derive(Clone)]
pub struct Token {
    /// The scheme and the space behind it; empty if there is none.
    prefix: Cow<'static, str>,
    secret: Arc<SecretString>,
    /// What proves the possession of the key that the token is bound to, if it is.
    proof: Option<Arc<dyn ProofOfPossession>>,
}

impl Token {
    /// Creates a token. Fails if the text cannot be sent in a header.
    pub fn bearer(token: impl Into<String>) -> Result<Self, NotAToken> {
        Self::of_scheme("Bearer ", token.into())
    }

    /// Creates a token that is bound to a key: each request carries a proof of its own. Fails if the text
    /// cannot be sent in a header.
    pub fn dpop(
        token: impl Into<String>,
        proof: Arc<dyn ProofOfPossession>,
    ) -> Result<Self, NotAToken> {
        let token = Self::of_scheme("DPoP ", token.into())?;
        Ok(Self { proof: Some(proof), ..token })
    }

    fn of_scheme(prefix: &'static str, token: String) -> Result<Self, NotAToken> {
        let token = SecretString::from(token);
        let exposed = token.expose_secret();
        let is_token = !exposed.is_empty() && exposed.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_token {
            return Err(NotAToken);
        }
        Ok(Self { prefix: Cow::Borrowed(prefix), secret: Arc::new(token), proof: None })
    }

    /// Creates a token from the whole value of the `Authorization` header, in any scheme: `Basic dXNlcg==`,
    /// `ApiKey abc`, or a value without a scheme. Fails if a header cannot carry it.
    pub fn authorization(value: &str) -> Result<Self, NotAToken> {
        let (scheme, secret) = value.trim().split_once(' ').unwrap_or(("", value.trim()));
        let secret = secret.trim();
        let is_visible = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
        // The usual schemes, with nothing behind them.
        let is_scheme = ["basic", "bearer"].iter().any(|it| secret.eq_ignore_ascii_case(it));
        if secret.is_empty() || is_scheme || !value.trim().bytes().all(is_visible) {
            return Err(NotAToken);
        }
        let prefix = if scheme.is_empty() { String::new() } else { format!("{scheme} ") };
        Ok(Self { prefix: prefix.into(), secret: Arc::new(secret.to_owned().into()), proof: None })
    }

    /// Whether both tokens are equal.
    pub fn is_same(&self, other: &Self) -> bool {
        self.secret.expose_secret() == other.secret.expose_secret()
    }

    /// Returns the token itself, so that it can be masked in texts.
    pub fn exposed(&self) -> &str {
        self.secret.expose_secret()
    }

    /// Returns what proves the possession of the token's key; `None` if it is bound to none. A transport adds
    /// the header `DPoP` to each request, and shows each answer.
    pub fn proof(&self) -> Option<&Arc<dyn ProofOfPossession>> {
        self.proof.as_ref()
    }

    /// Returns the value of the `Authorization` header, marked so that lower layers do not print it.
    pub fn header(&self) -> Option<HeaderValue> {
        let mut value =
            HeaderValue::try_from(format!("{}{}", self.prefix, self.secret.expose_secret()))
                .ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Proves with each request that its sender has the key that the token is bound to (DPoP, RFC 9449).
///
/// It is part of a [`Token`]: see [`Token::dpop`].
pub trait ProofOfPossession: Send + Sync + 'static {
    /// Makes the value of the header `DPoP` for one request. It is called anew for each, also for one that is
    /// sent again. `None` sends the request without a proof, which the server then refuses.
    fn prove(&self, method: &Method, url: &Uri) -> Option<HeaderValue>;

    /// Looks at the head of each answer, in which the server may give the nonce of later proofs, and says
    /// what became of the proof.
    fn judge(&self, status: StatusCode, headers: &HeaderMap) -> ProofVerdict;
}

/// What an answer says about the proof of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofVerdict {
    /// Nothing, or nothing that another proof would change.
    Settled,
    /// The server refused the request only because its proof had no nonce, or an old one, and has given the
    /// right one. The request is sent once more.
    WantsNonce,
}

/// The error for a text that cannot be a token: empty, or with characters that no header carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token must be visible ASCII without spaces, and not empty")]
pub struct NotAToken;

/// A token that never changes. When the server refuses it there is no better one.
#[derive(Clone, Debug)]
pub struct StaticToken(Token);

impl StaticToken {
    /// Creates credentials from one bearer token.
    pub fn new(token: impl Into<String>) -> Result<Self, NotAToken> {
        Token::bearer(token).map(Self)
    }
}

impl From<Token> for StaticToken {
    /// Uses this token, of whichever scheme.
    fn from(token: Token) -> Self {
        Self(token)
    }
}

impl Credentials for StaticToken {
    fn token<'a>(
        &'a self,
        refused: Option<Refused<'a>>,
    ) -> BoxFuture<'a, Result<Option<Token>, NoCredentials>> {
        let token = match refused {
            None => Ok(Some(self.0.clone())),
            Some(_) => Err(NoCredentials::only_token()),
        };
        Box::pin(async { token })
    }
}

/// The token in an environment variable, which is read again when the server refuses it.
#[derive(Clone, Debug)]
pub struct EnvironmentToken {
    variable: String,
}

impl EnvironmentToken {
    /// Reads the token from this variable whenever one is needed.
    pub fn new(variable: impl Into<String>) -> Self {
        Self { variable: variable.into() }
    }

    fn nothing_new(&self) -> NoCredentials {
        NoCredentials::because(format!("`{}` holds no other token", self.variable))
    }

    fn read(&self) -> Option<Token> {
        Token::bearer(std::env::var(&self.variable).ok()?.trim()).ok()
    }
}

impl Credentials for EnvironmentToken {
    fn token<'a>(
        &'a self,
        refused: Option<Refused<'a>>,
    ) -> BoxFuture<'a, Result<Option<Token>, NoCredentials>> {
        let found = self.read();
        let token = match refused {
            None => Ok(found),
            Some(refused) => {
                let is_known = |token: &Token| refused.token.is_some_and(|it| it.is_same(token));
                found.filter(|token| !is_known(token)).map(Some).ok_or_else(|| self.nothing_new())
            }
        };
        Box::pin(async { token })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_never_prints_itself() {
        let token = Token::bearer("s3cret").unwrap();
        let header = token.header().unwrap();

        assert!(!format!("{token:?} {header:?}").contains("s3cret"));
        assert_eq!(header.to_str().unwrap(), "Bearer s3cret");
    }

    #[test]
    fn any_scheme_can_be_sent() {
        for value in
            ["Basic dXNlcjpwYXNz", "ApiKey abc", "sk-abc", "bearer t", "Digest a=\"b c\", d=e"]
        {
            let token = Token::authorization(value).unwrap();

            assert_eq!(token.header().unwrap().to_str().unwrap(), value);
        }
        for value in ["", " ", "Bearer ", "a\nb", "ü"] {
            assert_eq!(Token::authorization(value).unwrap_err(), NotAToken, "{value:?}");
        }
    }

    #[test]
    fn what_no_header_can_carry_is_no_token() {
        for text in ["", "a b", "a\nb", "ü"] {
            assert_eq!(Token::bearer(text).unwrap_err(), NotAToken);
        }
    }

    #[tokio::test]
    async fn a_static_token_has_no_better_one() {
        let bearer = StaticToken::new("one").unwrap();
        let first = bearer.token(None).await.unwrap().unwrap();

        let refused = Refused { token: Some(&first), challenge: None, is_suspicion: false };
        let again = bearer.token(Some(refused)).await;

        assert!(again.is_err());
    }
}
