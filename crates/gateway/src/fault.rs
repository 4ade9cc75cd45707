//! Errors for callers whose call got no answer of its server: the whole story, and the facts.

use std::time::Duration;

use ridethrough::error::CallError;
use ridethrough_core::Facts;
use ridethrough_core::message::{Answer, code};

/// Returns the answer for a call that ended without one.
pub(crate) fn unanswered(server: &str, error: &CallError) -> Answer {
    let message = format!("server `{server}`: {}", error.story());
    Facts::of(error).at(server).answer(code::SERVER_ERROR, &message)
}

/// Returns the refusal of a call for which a server has no place.
pub(crate) fn full(server: &str, places: usize, queue: usize) -> Answer {
    let mut facts = Facts::unsent("serverFull").at(server);
    facts.retry_after_ms = Some(millis(AGAIN));
    let message = format!(
        "server `{server}`: {places} calls are under way, and {queue} wait for them\n  \
         tried: nothing was sent\n\
         hint: try again in a second, or raise `places` of this server; other servers are not affected"
    );
    facts.answer(code::SERVER_ERROR, &message)
}

/// Returns the refusal of a call that cannot have a link.
pub(crate) fn no_link(server: &str, why: &str) -> Answer {
    let message = format!(
        "server `{server}`: {why}\n  tried: nothing was sent\n\
         hint: raise `links` of this server, or share one link: `share = \"all\"`"
    );
    Facts::unsent("noLink").at(server).answer(code::SERVER_ERROR, &message)
}

/// Returns the answer for a list that was never read and cannot be read now.
pub(crate) fn unread(server: &str, method: &str, why: Option<&str>) -> Answer {
    let why = why.unwrap_or("it has not answered");
    let message = format!(
        "server `{server}`: {method} has no answer: {why}\n  tried: it was waited for, and no earlier list is known\n\
         hint: try again later"
    );
    Facts::unsent("noList").at(server).answer(code::SERVER_ERROR, &message)
}

/// Returns the refusal of a call for which there is no server.
pub(crate) fn unknown(what: &str, name: &str) -> Answer {
    let message = format!(
        "there is no {what} `{name}` here\n  tried: the lists of all servers were compared\n\
         hint: ask for the list, which says what there is"
    );
    Answer::refusal(code::INVALID_PARAMS, &message)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

const AGAIN: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use ridethrough::error::{Delivery, Kind};
    use ridethrough_core::{CallName, Reason};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_error_names_the_server_and_keeps_the_facts() {
        let call = CallName { method: "tools/call".into(), tool: Some("deploy".into()) };
        let mut error = CallError::new(Kind::Interrupted, Delivery::Unknown, call, Reason::Nothing);
        error.attempts = 2;

        let said: Value = unanswered("files", &error).json().read().unwrap();

        assert_eq!(said["data"]["server"], "files");
        assert_eq!(said["data"]["kind"], "interrupted");
        assert_eq!(said["data"]["mayHaveRun"], true);
        assert_eq!(said["data"]["attempts"], 2);
        assert!(
            said["message"].as_str().unwrap().starts_with("server `files`: tools/call `deploy`")
        );
    }

    #[test]
    fn what_was_refused_was_not_sent() {
        let said: Value = full("files", 64, 256).json().read().unwrap();

        assert_eq!(said["data"]["mayHaveRun"], json!(false));
        assert_eq!(said["data"]["retryAfterMs"], json!(1000));
    }
}
