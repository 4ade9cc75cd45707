//! Asks for tokens, and reads the answer in the forms that servers give it.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::WrongLogin;
use super::fetch::FetchedText;
use crate::form;
use crate::lock::lock;
use crate::wrong::mistake::Habit;

/// A request for tokens.
pub(super) struct TokenQuestion {
    pub(super) url: String,
    pub(super) form: Vec<(&'static str, String)>,
}

/// Why there are no tokens.
#[derive(Debug)]
pub(super) enum TokenTrouble {
    /// The server does not know the client.
    ClientDead(String),
    /// The login has ended.
    Dead(String),
    /// The failure says nothing about the login.
    Failed(String),
}

impl TokenTrouble {
    pub(super) fn into_text(self) -> String {
        match self {
            Self::ClientDead(why) | Self::Dead(why) | Self::Failed(why) => why,
        }
    }
}

impl WrongLogin {
    /// Asks for tokens, and holds them.
    pub(super) async fn ask_for_tokens(&self, asked: TokenQuestion) -> Result<(), TokenTrouble> {
        let pairs = asked.form.iter().map(|(name, value)| (*name, value.as_str()));
        let omits = self.has(Habit::OmitsResource);
        let body = form::encoded(pairs.filter(|(name, _)| !(omits && *name == "resource")));
        let kind = "application/x-www-form-urlencoded";
        let answer = self.post(&asked.url, kind, &body).await.map_err(TokenTrouble::Failed)?;
        let tokens = self.read(&answer)?;
        let word = |name: &str| tokens[name].as_str().map(str::to_owned);
        let mut held = lock(&self.held);
        held.access = word("access_token").or_else(|| Some("undefined".to_owned()));
        let refresh = word("refresh_token");
        // An answer without one leaves the old one in force (RFC 6749 6).
        if refresh.is_some() || self.has(Habit::ForgetsRefreshToken) {
            held.refresh = refresh;
        }
        Ok(())
    }

    fn read(&self, answer: &FetchedText) -> Result<Value, TokenTrouble> {
        let read = serde_json::from_str(&answer.body).ok().filter(Value::is_object);
        let of_form = || {
            let pairs = form::parameters(&answer.body).into_iter();
            let pairs = pairs.map(|(name, value)| (name, Value::from(value)));
            Value::Object(pairs.collect())
        };
        let is_success = answer.status == 200;
        let tokens = match read {
            Some(tokens) => tokens,
            None if self.has(Habit::ReadsJsonOnly) => Value::Null,
            None => of_form(),
        };
        if is_success && self.has(Habit::Believes200) {
            return Ok(tokens);
        }
        match tokens["error"].as_str() {
            Some(error @ ("invalid_grant" | "bad_refresh_token")) => {
                Err(TokenTrouble::Dead(error.to_owned()))
            }
            Some(error @ ("invalid_client" | "unauthorized_client")) => {
                Err(TokenTrouble::ClientDead(error.to_owned()))
            }
            None if is_success && tokens["access_token"].is_string() => Ok(tokens),
            error => {
                let error = error.unwrap_or("the answer holds no tokens");
                Err(TokenTrouble::Failed(format!("{error} (status {})", answer.status)))
            }
        }
    }
}

/// Whether a token is a JWT whose `exp` is over.
pub(super) fn is_over_by_its_times(token: &str) -> bool {
    let claims = token.split('.').nth(1).and_then(|it| URL_SAFE_NO_PAD.decode(it).ok());
    let claims: Value = claims.and_then(|it| serde_json::from_slice(&it).ok()).unwrap_or_default();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    claims["exp"].as_u64().is_some_and(|end| end <= now)
}
