//! The page that the caller shows to its person, in the words of URL elicitation (2025-11-25, client features,
//! elicitation, "URL mode").
//!
//! That mode is for credentials which a server needs at somebody else's, and must not be used to let the client
//! into the server itself. Towards the caller we are the server, and the upstream is somebody else.

use ridethrough::transport::BoxFuture;
use ridethrough_core::answer::words::harmless;
use ridethrough_oauth::person::{LoginPrompt, Person};
use ridethrough_wire::message::code::URL_REQUIRED;
use ridethrough_wire::message::{Answer, Json};
use tokio::sync::mpsc;

use super::{LoginAdvice, Purpose};

/// A person who is reached through the caller.
pub(super) struct CallersPerson(mpsc::UnboundedSender<LoginPrompt>);

impl CallersPerson {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<LoginPrompt>) {
        let (sender, prompts) = mpsc::unbounded_channel();
        (Self(sender), prompts)
    }
}

impl Person for CallersPerson {
    fn show<'a>(&'a self, prompt: &'a LoginPrompt) -> BoxFuture<'a, ()> {
        // If nobody takes it, the login was given up.
        let _ = self.0.send(prompt.clone());
        Box::pin(async {})
    }
}

/// What the person decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consent {
    Accepted,
    /// The page was dismissed without a choice.
    Cancelled,
    /// The person said no, or the caller cannot show pages after all.
    Declined,
}

/// Reads the caller's answer to the request that shows the page.
pub(super) fn consent(answer: &Answer) -> Consent {
    let Answer::Result(result) = answer else { return Consent::Declined };
    let action = result.member("action");
    match action.as_ref().and_then(Json::string).as_deref() {
        Some("accept") => Consent::Accepted,
        Some("cancel") => Consent::Cancelled,
        _ => Consent::Declined,
    }
}

/// The params of `elicitation/create` for this login.
pub(super) fn of(purpose: Purpose, id: &str, prompt: &LoginPrompt, advice: &LoginAdvice) -> Json {
    let purpose = match purpose {
        Purpose::Access => format!("to use `{}`", advice.server),
        Purpose::Scope => {
            let scopes = harmless(&prompt.scopes.to_text().unwrap_or_default());
            format!("to grant `{}` more, which a call needs: {scopes}", advice.server)
        }
    };
    let host = harmless(&prompt.issuer_host);
    let mut message = format!("Log in at {host} {purpose}.");
    if prompt.is_at_other_host() {
        message += " That is another host than the server's: go on only if you know it.";
    }
    if let Some(code) = &prompt.user_code {
        message += &format!(" Type in this code: {}", harmless(code));
    }
    Json::from(serde_json::json!({
        "mode": "url",
        "elicitationId": id,
        "url": prompt.url,
        "message": message,
    }))
}

/// The error that names a page to be visited before the call is made again.
pub(crate) fn page_required(page: Json) -> Answer {
    let pages = ridethrough_wire::message::splice::array([&page]);
    let data = Json::empty_object().with_members([("elicitations".to_owned(), pages)]);
    let words = "the server needs a login: visit the page, then call again";
    let error = Json::from(serde_json::json!({ "code": URL_REQUIRED, "message": words }));
    Answer::Error(error.with_members([("data".to_owned(), data)]))
}
