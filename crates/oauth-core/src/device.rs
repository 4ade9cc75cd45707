//! The device flow (RFC 8628): a person consents on another device, while we ask at intervals.
//!
//! ```text
//! Waiting ──interval──► asking ──pending, slow down, trouble──► Waiting
//!                          └──tokens, refusal, end of the code──► over
//! ```

use std::time::Duration;

use crate::address::{AddressError, HttpUrl};
use crate::http_answer::HttpAnswer;
use crate::json::{self, Object};
use crate::secret::Secret;
use crate::timestamp::Timestamp;
use crate::token_answer::TokenError;
use crate::tokens::Tokens;
use crate::words;

/// A device flow that is under way.
#[derive(Clone, Debug)]
pub struct DeviceFlow {
    device_code: Secret,
    user_code: String,
    verification_uri: HttpUrl,
    verification_uri_complete: Option<HttpUrl>,
    expires_at: Timestamp,
    interval: Duration,
    /// When to ask next; `None` while an answer is awaited.
    ask_at: Option<Timestamp>,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceStep {
    /// Ask the token endpoint with this device code.
    Ask(Secret),
    /// The code has ended: begin again.
    Expired,
    /// An answer is awaited.
    Wait,
    /// Do nothing until then.
    WaitUntil(Timestamp),
}

/// The outcome of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceOutcome {
    /// The flow is over without tokens.
    Failed(DeviceError),
    /// The person has consented.
    Granted(Tokens),
    /// Not yet: go on with [`DeviceFlow::step`].
    NotYet,
}

/// Why a device flow failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The person refused.
    #[error("the person refused the login")]
    AccessDenied,
    /// A member of the first answer is missing.
    #[error("the device authorization endpoint answered {0} without a code")]
    Unreadable(http::StatusCode),
    /// The address for the person must not be used.
    #[error("the address for the person cannot be used")]
    Address(#[from] AddressError),
    /// The code ended before the person consented.
    #[error("the code ended before the person consented; log in again")]
    Expired,
    /// The server refused for another reason.
    #[error("the device flow was refused")]
    Refused(#[source] TokenError),
}

impl DeviceFlow {
    /// Reads the answer of the device authorization endpoint.
    pub fn begin(answer: &HttpAnswer, now: Timestamp) -> Result<Self, DeviceError> {
        let unreadable = || DeviceError::Unreadable(answer.status);
        let object = json::object(&answer.body).filter(|_| answer.status.is_success());
        let object = object.ok_or_else(unreadable)?;
        let text = |name| json::text(&object, name);
        // The name in the drafts, which Google still uses.
        let uri = text("verification_uri").or_else(|| text("verification_url"));
        let complete = text("verification_uri_complete").map(HttpUrl::parse);
        let interval = seconds(&object, "interval").map_or(INTERVAL, |it| it.max(SHORTEST));
        Ok(Self {
            device_code: text("device_code").map(Secret::new).ok_or_else(unreadable)?,
            user_code: text("user_code").map(words::shown).ok_or_else(unreadable)?,
            verification_uri: HttpUrl::parse(uri.ok_or_else(unreadable)?)?,
            // The plain address and the code do as well.
            verification_uri_complete: complete.and_then(Result::ok),
            expires_at: now + seconds(&object, "expires_in").unwrap_or(LIFE),
            interval,
            ask_at: Some(now + interval),
        })
    }

    /// Returns the code, which is shown even if the address holds it: the person compares both.
    pub fn user_code(&self) -> &str {
        &self.user_code
    }

    /// Returns where the person goes.
    pub const fn verification_uri(&self) -> &HttpUrl {
        &self.verification_uri
    }

    /// Returns where the person goes without typing the code.
    pub const fn verification_uri_complete(&self) -> Option<&HttpUrl> {
        self.verification_uri_complete.as_ref()
    }

    /// Returns when the code ends.
    pub const fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// Returns what to do next.
    pub fn step(&mut self, now: Timestamp) -> DeviceStep {
        match self.ask_at {
            _ if self.expires_at <= now => DeviceStep::Expired,
            None => DeviceStep::Wait,
            Some(at) if now < at => DeviceStep::WaitUntil(at),
            Some(_) => {
                self.ask_at = None;
                DeviceStep::Ask(self.device_code.clone())
            }
        }
    }

    /// Handles the answer; `None` means that it was lost.
    pub fn handle(
        &mut self,
        now: Timestamp,
        answer: Option<Result<Tokens, TokenError>>,
    ) -> DeviceOutcome {
        let error = match answer {
            Some(Ok(tokens)) => return DeviceOutcome::Granted(tokens),
            Some(Err(error)) => Some(error),
            None => None,
        };
        match error {
            Some(TokenError::AuthorizationPending) => {}
            Some(TokenError::SlowDown) => self.interval += SLOWER,
            // RFC 8628, 3.5: back off when the server does not answer.
            None => self.interval = (self.interval * 2).min(LONGEST),
            Some(TokenError::Transient { retry_after, .. }) => {
                let asked = retry_after.unwrap_or_default();
                self.interval = (self.interval * 2).max(asked).min(LONGEST);
            }
            Some(TokenError::UseDpopNonce(_)) => {}
            Some(error) => return DeviceOutcome::Failed(failure(error)),
        }
        self.ask_at = Some(now + self.interval);
        DeviceOutcome::NotYet
    }
}

fn failure(error: TokenError) -> DeviceError {
    match &error {
        TokenError::Refused { code: Some(code), .. } if code == "access_denied" => {
            DeviceError::AccessDenied
        }
        TokenError::Refused { code: Some(code), .. } if code == "expired_token" => {
            DeviceError::Expired
        }
        _ => DeviceError::Refused(error),
    }
}

fn seconds(object: &Object, name: &str) -> Option<Duration> {
    let value = object.get(name)?;
    let seconds = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    Some(Duration::from_secs(seconds.min(86_400)))
}

/// The interval for servers that name none (RFC 8628).
const INTERVAL: Duration = Duration::from_secs(5);
const SLOWER: Duration = Duration::from_secs(5);
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// How long a code lasts for servers that do not say, though they must.
const LIFE: Duration = Duration::from_secs(15 * 60);

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    const START: Timestamp = Timestamp::from_unix_secs(1_000_000);

    fn at(secs: u64) -> Timestamp {
        START + Duration::from_secs(secs)
    }

    fn flow(more: &str) -> DeviceFlow {
        let body = format!(
            r#"{{"device_code":"d3vice","user_code":"ABCD-EFGH","expires_in":600,
                "verification_uri":"https://as.example/device"{more}}}"#
        );
        DeviceFlow::begin(&HttpAnswer::new(StatusCode::OK, body), START).unwrap()
    }

    #[test]
    fn a_server_is_asked_every_five_seconds_unless_it_says_otherwise() {
        assert_eq!(flow("").step(at(0)), DeviceStep::WaitUntil(at(5)));
        assert_eq!(flow(r#","interval":9"#).step(at(0)), DeviceStep::WaitUntil(at(9)));
        assert_eq!(flow(r#","interval":0"#).step(at(0)), DeviceStep::WaitUntil(at(1)));
    }

    #[test]
    fn slow_down_adds_five_seconds_for_good() {
        let mut flow = flow("");
        assert!(matches!(flow.step(at(5)), DeviceStep::Ask(_)));

        flow.handle(at(5), Some(Err(TokenError::SlowDown)));

        assert_eq!(flow.step(at(5)), DeviceStep::WaitUntil(at(15)));
        assert!(matches!(flow.step(at(15)), DeviceStep::Ask(_)));
        flow.handle(at(15), Some(Err(TokenError::AuthorizationPending)));
        assert_eq!(flow.step(at(15)), DeviceStep::WaitUntil(at(25)));
    }

    #[test]
    fn there_is_one_question_at_a_time() {
        let mut flow = flow("");
        assert!(matches!(flow.step(at(5)), DeviceStep::Ask(_)));

        assert_eq!(flow.step(at(60)), DeviceStep::Wait);
    }

    #[test]
    fn a_code_that_has_ended_is_not_asked_about() {
        assert_eq!(flow("").step(at(600)), DeviceStep::Expired);
    }

    #[test]
    fn a_lost_answer_costs_time_and_nothing_else() {
        let mut flow = flow("");

        assert_eq!(flow.handle(at(5), None), DeviceOutcome::NotYet);
        assert_eq!(flow.step(at(5)), DeviceStep::WaitUntil(at(15)));
    }

    #[test]
    fn a_refusal_ends_the_flow_and_says_whose_it_is() {
        let refused = |code: &str| {
            let status = StatusCode::BAD_REQUEST;
            let (code, words) = (Some(code.to_owned()), String::new());
            flow("").handle(at(5), Some(Err(TokenError::Refused { status, code, words })))
        };

        assert_eq!(refused("access_denied"), DeviceOutcome::Failed(DeviceError::AccessDenied));
        assert_eq!(refused("expired_token"), DeviceOutcome::Failed(DeviceError::Expired));
        assert!(matches!(refused("x"), DeviceOutcome::Failed(DeviceError::Refused(_))));
    }

    #[test]
    fn an_address_that_must_not_be_used_is_not_shown() {
        let body = r#"{"device_code":"d","user_code":"u","verification_uri":"javascript:x"}"#;

        let begun = DeviceFlow::begin(&HttpAnswer::new(StatusCode::OK, body), START);

        assert_eq!(begun.unwrap_err(), DeviceError::Address(AddressError::Scheme));
        let complete = flow(r#","verification_uri_complete":"file:///x""#);
        assert_eq!(complete.verification_uri_complete(), None);
    }

    #[test]
    fn the_device_code_is_not_printed() {
        assert!(!format!("{:?}", flow("")).contains("d3vice"));
    }
}
