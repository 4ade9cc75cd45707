//! Answers for callers whose call got none of its server: the whole story and the facts, or, of a call that may
//! have run, what the core says of a doubt.

use std::sync::Arc;
use std::time::Duration;

use ridethrough::error::CallError;
use ridethrough_core::answer::words::harmless;
use ridethrough_core::{Doubt, DoubtForm, Facts};
use ridethrough_server::Principal;
use ridethrough_wire::message::{Answer, Json, code};
use serde_json::json;

use crate::quota::OverQuota;
use crate::sealed::BadState;

/// Returns the answer for a call that ended without one. If it may have run, that is told in this form.
pub(crate) fn unanswered(server: &str, error: &CallError, form: DoubtForm) -> Answer {
    let facts = Facts::of(error).at(server);
    if error.may_have_run() {
        return Doubt::of(&facts).answer(form);
    }
    facts.answer(code::SERVER_ERROR, &story(server, error))
}

/// Returns the answer for a caller that cannot be greeted.
pub(crate) fn unreached(server: &str, error: &CallError) -> Answer {
    Facts::of(error).at(server).answer(code::SERVER_ERROR, &story(server, error))
}

fn story(server: &str, error: &CallError) -> String {
    format!("server `{server}`: {}", error.story())
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

/// Returns the refusal of a call beyond what its principal may make.
pub(crate) fn over_quota(over: OverQuota) -> Answer {
    let mut facts = Facts::unsent("quotaExceeded");
    let (what, wait) = match over {
        OverQuota::InFlight { most } => {
            (format!("{most} calls of yours are under way, and that is all you may have"), AGAIN)
        }
        OverQuota::PerMinute { most, retry_after } => {
            (format!("you may make {most} calls in a minute, and have made them"), retry_after)
        }
    };
    let wait = wait.max(Duration::from_millis(1));
    facts.retry_after_ms = Some(millis(wait));
    let seconds = wait.as_secs_f64().ceil();
    let message = format!(
        "{what}\n  tried: nothing was sent\nhint: try again in {seconds} s, or ask whoever runs the gateway \
         for more"
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

/// Returns the refusal of a call whose principal has no login at the server.
pub(crate) fn login_needed(server: &str, principal: &Principal, way: &LoginWay<'_>) -> Answer {
    let name = harmless(principal.name());
    let failed = way.failed.map(|why| format!("; {}", harmless(why))).unwrap_or_default();
    let mut facts = Facts::unsent("loginNeeded").at(server);
    facts.url = way.url;
    let command = format!("ridethrough login {server} --profile {}", way.profile);
    let hint = match way.url {
        Some(url) => format!("open {url} in a browser within ten minutes, and log in there"),
        None => {
            facts.command = Some(&command);
            format!("run `{}` in a terminal", harmless(&command))
        }
    };
    let message = format!(
        "server `{server}`: a person must log in for `{name}` first\n  tried: the call was not run{failed}\n\
         hint: {hint}; do not retry before that"
    );
    facts.answer(code::SERVER_ERROR, &message)
}

/// How a person can log in for a principal.
pub(crate) struct LoginWay<'a> {
    /// The gateway's page, if browsers can come to it.
    pub(crate) url: Option<&'a str>,
    /// The name of the principal's account in the store.
    pub(crate) profile: &'a str,
    /// Why the last attempt brought nothing.
    pub(crate) failed: Option<&'a str>,
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

/// Returns the refusal of a call for which there is no server. It may belong to one of the servers that could
/// not be asked, if there are any.
pub(crate) fn unknown(what: &str, name: &str, unread: &[Arc<str>]) -> Answer {
    let name: String = harmless(name).chars().take(LONGEST_NAME).collect();
    if unread.is_empty() {
        let message = format!(
            "there is no {what} `{name}` here\n  tried: the lists of all servers were compared\n\
             hint: ask for the list, which says what there is"
        );
        return Answer::refusal(code::INVALID_PARAMS, &message);
    }
    let (named, verb) = (named(unread), if unread.len() == 1 { "was" } else { "were" });
    let message = format!(
        "no {what} `{name}` is known here, and {named} could not be asked\n  \
         tried: the lists of all other servers were compared; nothing was sent\n\
         hint: it may belong to what {verb} not asked; try again when that answers"
    );
    let mut facts = Facts::unsent("notListed");
    facts.retry_after_ms = Some(millis(AGAIN));
    facts.answer(code::INVALID_PARAMS, &message)
}

/// Returns the refusal of a request for a resource that no server has. Revision 2026-07-28 wants the URI as
/// data, too.
pub(crate) fn no_resource(uri: &str) -> Answer {
    let message = format!(
        "there is no resource `{uri}` here\n  tried: the lists and templates of all servers were compared\n\
         hint: ask for the list, which says what there is"
    );
    let error = json!({ "code": code::INVALID_PARAMS, "message": message, "data": { "uri": uri } });
    Answer::Error(Json::from(error))
}

/// Returns the refusal of a request about a task that is not of this caller. It says nothing of tasks of
/// others.
pub(crate) fn no_task() -> Answer {
    let message = "there is no task of this id here\n  tried: nothing was sent\n\
                   hint: an id is of use to the principal that began the task, in the revision in which it was begun";
    Answer::refusal(code::INVALID_PARAMS, message)
}

/// Returns the refusal of a call that asks for a task of a server without such tasks.
pub(crate) fn no_tasks(server: &str) -> Answer {
    let message = format!(
        "server `{server}`: it makes no task of a call in this revision\n  tried: nothing was sent\n\
         hint: call the tool without `task`"
    );
    Facts::unsent("noTasks").at(server).answer(code::METHOD_NOT_FOUND, &message)
}

/// Returns the refusal of a round whose `requestState` is of no use.
pub(crate) fn bad_state(bad: BadState) -> Answer {
    let why = match bad {
        BadState::Late => "its `requestState` is too old",
        // A foreign principal learns no more than if the call did not exist.
        BadState::Unknown => "its `requestState` is not known here, or belongs to another call",
        BadState::Used => "its `requestState` was used before",
    };
    let message = format!(
        "the call cannot go on: {why}\n  tried: nothing was sent\nhint: make the call anew, without `requestState`"
    );
    Answer::refusal(code::INVALID_PARAMS, &message)
}

/// Returns the answer for a result of a type that the caller has not declared.
pub(crate) fn unknown_type(server: &str, form: DoubtForm) -> Answer {
    let mut facts = Facts::unsent("peerMisbehaved").at(server);
    facts.may_have_run = true;
    Doubt::of(&facts).because(UNKNOWN_TYPE).answer(form)
}

/// Returns the refusal of a cursor that was not written here, or whose place is gone.
pub(crate) fn bad_cursor() -> Answer {
    Answer::refusal(code::INVALID_PARAMS, "the cursor is unknown; begin with the first page")
}

/// Returns the refusal of a completion for a URI that no list has and that may be of several servers, or of
/// none.
pub(crate) fn no_reference(uri: &str, able: &[Arc<str>], unread: &[Arc<str>]) -> Answer {
    let shown: String = harmless(uri).chars().take(LONGEST_NAME).collect();
    let hint = match (able, unread) {
        ([], []) => "no server here completes arguments".to_owned(),
        (_, []) => format!(
            "{} complete arguments: ask one of them at its own endpoint, `/mcp/NAME`",
            named(able)
        ),
        _ => format!("{} could not be asked; try again when that answers", named(unread)),
    };
    let message = format!(
        "no resource or template `{shown}` is known here\n  \
         tried: the lists and templates of all servers were compared; nothing was sent\nhint: {hint}"
    );
    let mut facts = Facts::unsent("notListed");
    facts.retry_after_ms = (!unread.is_empty()).then(|| millis(AGAIN));
    facts.answer(code::INVALID_PARAMS, &message)
}

fn named(servers: &[Arc<str>]) -> String {
    servers.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

const UNKNOWN_TYPE: &str = "The server's result is of a type that the caller did not declare.";
const AGAIN: Duration = Duration::from_secs(1);
/// Of a name that is repeated in an error.
const LONGEST_NAME: usize = 200;

#[cfg(test)]
mod tests {
    use ridethrough::error::{Delivery, Kind};
    use ridethrough_core::{CallName, Reason};
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_doubt_names_the_server_among_its_facts_and_not_in_its_words() {
        let call = CallName { method: "tools/call".into(), tool: Some("deploy".into()) };
        let mut error = CallError::new(Kind::Interrupted, Delivery::Unknown, call, Reason::Nothing);
        error.attempts = 2;

        let said: Value = unanswered("files", &error, DoubtForm::Result).json().read().unwrap();

        let facts = &said["_meta"]["ridethrough/doubt"];
        assert_eq!((&facts["server"], &facts["kind"]), (&json!("files"), &json!("interrupted")));
        assert_eq!((&facts["mayHaveRun"], &facts["attempts"]), (&json!(true), &json!(2)));
        assert!(!said["content"].to_string().contains("files"), "{said}");
    }

    #[test]
    fn an_error_of_a_call_that_did_not_run_names_the_server_and_keeps_the_story() {
        let call = CallName { method: "tools/call".into(), tool: Some("deploy".into()) };
        let error = CallError::new(Kind::Unreachable, Delivery::NotSent, call, Reason::Nothing);

        let said: Value = unanswered("files", &error, DoubtForm::Result).json().read().unwrap();

        assert_eq!((&said["code"], &said["data"]["mayHaveRun"]), (&json!(-32000), &json!(false)));
        let words = said["message"].as_str().unwrap();
        assert!(words.starts_with("server `files`: tools/call `deploy`"), "{words}");
    }

    #[test]
    fn a_resource_that_nobody_has_is_named_in_the_data() {
        let said: Value = no_resource("test://a").json().read().unwrap();

        assert_eq!((&said["code"], &said["data"]["uri"]), (&json!(-32602), &json!("test://a")));
    }

    #[test]
    fn what_was_refused_was_not_sent() {
        let said: Value = full("files", 64, 256).json().read().unwrap();

        assert_eq!(said["data"]["mayHaveRun"], json!(false));
        assert_eq!(said["data"]["retryAfterMs"], json!(1000));
    }
}
