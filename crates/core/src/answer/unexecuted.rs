//! Refusals of which an operator declares that the server did not run what it refused so.
//!
//! No status that something between client and server makes is proof. An operator who knows what stands there
//! may know better.

use std::fmt;
use std::str::FromStr;

use http::StatusCode;

use super::status;
use crate::head::AnswerHead;

/// A refusal that the server sends only for requests that it did not run, as the operator declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unexecuted {
    /// 503 with `Retry-After`, written `503+hint`.
    AnnouncedOutage,
    /// This status.
    Status(StatusCode),
}

impl Unexecuted {
    /// Whether an answer is such a refusal.
    pub(crate) fn covers(self, head: &AnswerHead) -> bool {
        match self {
            Self::AnnouncedOutage => status::is_announced_outage(head),
            Self::Status(status) => head.status == status,
        }
    }

    /// Whether an operator may declare this: of 408, 502, 503 and 504, after which calls are then sent again,
    /// and of any other 4xx, of which only the words change.
    pub(crate) fn is_allowed(self) -> bool {
        match self {
            Self::AnnouncedOutage => true,
            Self::Status(status) => status::is_of_a_gateway(status) || status.is_client_error(),
        }
    }
}

impl From<StatusCode> for Unexecuted {
    fn from(status: StatusCode) -> Self {
        Self::Status(status)
    }
}

impl fmt::Display for Unexecuted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AnnouncedOutage => f.write_str(ANNOUNCED),
            Self::Status(status) => f.write_str(status.as_str()),
        }
    }
}

impl FromStr for Unexecuted {
    type Err = http::status::InvalidStatusCode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == ANNOUNCED { Ok(Self::AnnouncedOutage) } else { text.parse().map(Self::Status) }
    }
}

const ANNOUNCED: &str = "503+hint";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::head::Content;

    #[test]
    fn an_announced_outage_is_a_value_of_its_own() {
        let mut head = AnswerHead::new(StatusCode::SERVICE_UNAVAILABLE, Content::Nothing);
        let bare: Unexecuted = "503".parse().unwrap();
        let announced: Unexecuted = "503+hint".parse().unwrap();

        assert!(bare.covers(&head) && !announced.covers(&head));
        head.retry_after = Some(Duration::from_secs(5));
        assert!(bare.covers(&head) && announced.covers(&head));
        assert_eq!(announced.to_string(), "503+hint");
    }

    #[test]
    fn a_result_and_the_trouble_of_the_server_itself_cannot_be_declared() {
        for (text, is_allowed) in [
            ("200", false),
            ("307", false),
            ("500", false),
            ("403", true),
            ("408", true),
            ("504", true),
        ] {
            assert_eq!(text.parse::<Unexecuted>().unwrap().is_allowed(), is_allowed, "{text}");
        }
        assert!("hint".parse::<Unexecuted>().is_err());
    }
}
