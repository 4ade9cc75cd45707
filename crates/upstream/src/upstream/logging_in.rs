//! Calls while a person must log in, and the login that the caller is asked for.
//!
//! A caller that can be sent requests is sent one `elicitation/create`, and the calls of its person wait for the
//! end of the login and then go out without another try. The error for pages (-32042) would end each of them, and
//! leave it to the caller to try again. Any other caller that can show pages gets the page as the answer to its
//! call, and comes back.

use std::time::Duration;

use ridethrough_core::answer::words::harmless;
use ridethrough_oauth::error::{LoginFailure, with_causes};
use ridethrough_wire::message::code::SERVER_ERROR;
use ridethrough_wire::message::{Answer, Id};
use tokio::time::Instant;

use super::{Effect, Upstream};
use crate::fault;
use crate::login::{Access, Closing, LoginFlow, LoginNews, Purpose, Wait, Waiting};

/// What becomes of a call while a person must log in.
pub(super) enum Entry {
    /// It goes to the upstream.
    Free,
    /// It ends at once.
    Refused,
    /// It waits.
    Waits(Waiting),
}

impl Upstream {
    /// Whether a person must log in before anything is sent.
    pub fn is_login_needed(&self) -> bool {
        self.login.as_ref().is_some_and(|login| login.needed().is_some())
    }

    /// The caller was sent the request that shows a page.
    pub fn page_sent(&mut self, purpose: Purpose) {
        if let Some(login) = &mut self.login {
            login.request_sent(purpose);
        }
    }

    /// Takes an answer of the caller, if it belongs to the page of a login. Returns whether it does.
    pub fn page_answered(&mut self, id: &Id, answer: &Answer) -> bool {
        let now = Instant::now();
        self.login.as_mut().is_some_and(|login| login.answered(now, id.json(), answer))
    }

    /// Handles that the person of a caller that came back did not visit the page.
    pub fn page_declined(&mut self) {
        if let Some(login) = &mut self.login {
            login.declined();
        }
    }

    /// Decides about a call that is to go out.
    pub(super) fn entry(&mut self, method: &str, shown: Option<Wait>) -> Entry {
        if !self.is_login_needed() {
            return Entry::Free;
        }
        self.login_changed();
        let now = Instant::now();
        if self.login.as_mut().is_some_and(|login| login.may_look(now)) {
            self.first_connect.reach_now();
            return Entry::Free;
        }
        self.wait_for_login(method, shown).map_or(Entry::Refused, Entry::Waits)
    }

    /// Decides about a call that must not go out, or was refused for want of a login.
    pub(super) fn wait_for_login(&mut self, method: &str, shown: Option<Wait>) -> Option<Waiting> {
        self.login.as_mut()?.wait(Instant::now(), method, shown)
    }

    /// Returns the answer to a call that cannot be made before a person logs in.
    pub(super) fn login_needed(&self) -> Answer {
        let Some((login, reason)) = self.login.as_ref().and_then(|it| Some((it, it.needed()?)))
        else {
            // The login has just ended well.
            let words =
                "the call was not sent: somebody had to log in first, and has\nhint: call again";
            return Answer::refusal(SERVER_ERROR, words);
        };
        fault::login_needed(&login.words(&reason), login.command())
    }

    pub(super) fn login_news(&mut self, news: LoginNews) {
        match news {
            LoginNews::Changed => self.login_changed(),
            LoginNews::Ended(Purpose::Access, done) => self.login_ended(done),
            LoginNews::Ended(Purpose::Scope, done) => self.step_up_ended(done),
            LoginNews::Page(purpose, prompt) => {
                let page = self.login.as_mut().and_then(|login| login.page(purpose, &prompt));
                let Some((id, page)) = page else { return };
                self.effects.push_back(Effect::ShowPage { purpose, id, page });
                self.voice.say(match purpose {
                    Purpose::Access => "the host was asked to show the page of the login",
                    Purpose::Scope => {
                        "a call needs more scope; the host was asked to show the page for it"
                    }
                });
            }
        }
    }

    /// Handles that a person must log in, or has logged in.
    pub(super) fn login_changed(&mut self) {
        let Some(login) = &mut self.login else { return };
        match login.settle(Instant::now()) {
            None => {}
            Some(Access::Closed(reason)) => {
                let words = login.words(&reason);
                self.voice.say(&words);
                self.leave_alone();
                self.effects.push_back(Effect::Absent);
            }
            Some(Access::Open) => self.is_logged_in(),
        }
    }

    /// Stops the attempts to connect until a person has logged in.
    pub(super) fn leave_alone(&mut self) {
        let reason = self.login.as_ref().and_then(LoginFlow::needed);
        let may_pass = reason.is_some_and(|reason| reason.may_pass());
        self.first_connect.pause(may_pass.then_some(TRY_AGAIN));
    }

    fn is_logged_in(&mut self) {
        self.voice.say("somebody has logged in; going on");
        let closing = self.login.as_mut().map(|it| it.ended(Instant::now(), None));
        self.close_page(closing);
        if self.server().is_none() {
            // The lists are announced when the upstream is reached.
            return self.first_connect.reach_now();
        }
        let refused = self.lists.take_refused();
        self.announce(refused);
        self.check_lists();
    }

    fn login_ended(&mut self, done: Result<(), LoginFailure>) {
        let failure = done.err().map(|error| harmless(&with_causes(&error)));
        let closing = self.login.as_mut().map(|it| it.ended(Instant::now(), failure.as_deref()));
        self.close_page(closing);
        if let Some(why) = failure {
            self.voice.say(&format!("the login that the host was asked for failed: {why}"));
        }
        self.login_changed();
    }

    fn step_up_ended(&mut self, done: Result<(), LoginFailure>) {
        let closing = self.login.as_mut().map(|it| it.scope_ended(Instant::now()));
        self.close_page(closing);
        if let Err(error) = done {
            let why = harmless(&with_causes(&error));
            self.voice.say(&format!("more scope was not granted: {why}"));
        }
    }

    /// Lets the caller know that a page is over.
    fn close_page(&mut self, closing: Option<Closing>) {
        self.effects.extend(closing.map(Effect::PageOver));
    }
}

/// How long an upstream is left alone that refuses what it granted: it may have a fault.
const TRY_AGAIN: Duration = Duration::from_secs(300);
