//! What a client is known by, and where better credentials come from.
//!
//! A token never prints itself, is wiped from memory when it is dropped, and is sent to the client's
//! own endpoint only. The hook is asked once for all calls whose token was refused.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

pub use ridethrough_core::NoCredentials;
pub use ridethrough_core::head::{Challenge, Demand};

/// Where tokens come from.
///
/// ```
/// use ridethrough::credentials::{Credentials, NoCredentials, Refused, Token};
/// use ridethrough::transport::BoxFuture;
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
    /// The token to use.
    ///
    /// The first question comes before anything is sent: nothing was refused yet, and `Ok(None)` or
    /// an error means that requests go out without a token until the server asks for one.
    ///
    /// Later, `refused` is what the server did not accept and what it asked for. The answer then is
    /// a better token, or an error: the calls that wait end as `Unauthorized`, and the next call that
    /// is refused asks again.
    ///
    /// At most one question is open at a time. The calls wait for 30 seconds; a token that comes
    /// later is there for the next ones.
    fn token<'a>(
        &'a self,
        refused: Option<Refused<'a>>,
    ) -> BoxFuture<'a, Result<Option<Token>, NoCredentials>>;

    /// Waits for a token that takes the place of the one in force before a server refuses it.
    ///
    /// It is waited for after the first answer of [`Self::token`] and again after each token that it
    /// brings, never while a question is open. The future may be dropped at any time. By default it
    /// never ends.
    fn renewed(&self) -> BoxFuture<'_, Token> {
        Box::pin(std::future::pending())
    }
}

/// A token that the server did not accept.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Refused<'a> {
    /// The token; `None` if there was none.
    pub token: Option<&'a Token>,
    /// What the server asked for.
    pub challenge: Option<&'a Challenge>,
}

/// A bearer token.
#[derive(Clone)]
pub struct Token {
    secret: Arc<SecretString>,
}

impl Token {
    /// Takes a token; an error if it cannot be sent in a header.
    pub fn bearer(token: impl Into<String>) -> Result<Self, NotAToken> {
        let token = SecretString::from(token.into());
        let exposed = token.expose_secret();
        let is_token = !exposed.is_empty() && exposed.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_token {
            return Err(NotAToken);
        }
        Ok(Self { secret: Arc::new(token) })
    }

    /// Whether both are the same token.
    pub fn is_same(&self, other: &Self) -> bool {
        self.secret.expose_secret() == other.secret.expose_secret()
    }

    /// The token itself, for whoever keeps it out of texts.
    pub(crate) fn exposed(&self) -> &str {
        self.secret.expose_secret()
    }

    /// The value of `Authorization`, marked so that lower layers do not print it.
    pub fn header(&self) -> Option<HeaderValue> {
        let mut value =
            HeaderValue::try_from(format!("Bearer {}", self.secret.expose_secret())).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// A text that cannot be a token: empty, or with characters that no header carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token must be visible ASCII without spaces, and not empty")]
pub struct NotAToken;

/// One token that never changes; when it is refused there is no better one.
#[derive(Clone, Debug)]
pub struct StaticBearer(Token);

impl StaticBearer {
    /// Uses this token.
    pub fn new(token: impl Into<String>) -> Result<Self, NotAToken> {
        Token::bearer(token).map(Self)
    }
}

impl Credentials for StaticBearer {
    fn token<'a>(
        &'a self,
        refused: Option<Refused<'a>>,
    ) -> BoxFuture<'a, Result<Option<Token>, NoCredentials>> {
        let token = match refused {
            None => Ok(Some(self.0.clone())),
            Some(_) => Err(NoCredentials::because("there is one token only, and it was refused")),
        };
        Box::pin(async { token })
    }
}

/// The token that an environment variable holds, read again when it is refused.
#[derive(Clone, Debug)]
pub struct EnvironmentBearer {
    variable: String,
}

impl EnvironmentBearer {
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

impl Credentials for EnvironmentBearer {
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
    fn what_no_header_can_carry_is_no_token() {
        for text in ["", "a b", "a\nb", "ü"] {
            assert_eq!(Token::bearer(text).unwrap_err(), NotAToken);
        }
    }

    #[tokio::test]
    async fn a_static_token_has_no_better_one() {
        let bearer = StaticBearer::new("one").unwrap();
        let first = bearer.token(None).await.unwrap().unwrap();

        let again = bearer.token(Some(Refused { token: Some(&first), challenge: None })).await;

        assert!(again.is_err());
    }
}
