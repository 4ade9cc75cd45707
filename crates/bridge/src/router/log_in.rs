//! Calls while a person must log in, and the login that the host is asked for.
//!
//! A host with a session that can show pages is sent one `elicitation/create`, and the calls of its person
//! wait for the end of the login and then go out without another try. The error for pages (-32042) would end
//! each of them, and leave it to the host to try again. A host of the stateless revision is never sent a
//! request: it gets the page as the answer to its call (`input_required`), and comes back.
//!
//! Lists never wait for a login: hosts begin with them, and some drop a server that keeps one waiting.

use std::collections::BTreeSet;
use std::time::Duration;

use ridethrough_oauth::error::{LoginFailure, with_causes};
use ridethrough_oauth::person::LoginPrompt;
use ridethrough_wire::message::code::SERVER_ERROR;
use ridethrough_wire::message::notification;
use ridethrough_wire::message::{Answer, Id, Json};
use ridethrough_wire::stateless::can_ask;
use tokio::io::AsyncWrite;
use tokio::sync::watch;
use tokio::time::Instant;

use super::Router;
use crate::calls::{Asked, Asker, End, Finished};
use crate::catalogue::Catalogue;
use crate::fault;
use crate::gauge::{NeededLogin, short};
use crate::harmless::harmless;
use crate::lists::{Kind, Page};
use crate::login::{Access, Closing, Gate, LoginFlow, LoginNews, Wait};

/// What becomes of a call while a person must log in.
pub(super) enum Entry {
    /// It goes to the upstream.
    Free,
    /// It ends at once.
    Refused,
    /// It waits.
    Waits(watch::Receiver<Gate>, Wait),
}

impl<W: AsyncWrite + Unpin> Router<W> {
    pub(super) fn is_login_needed(&self) -> bool {
        self.login.as_ref().is_some_and(|login| login.needed().is_some())
    }

    /// Decides about a call that is to go out.
    pub(super) fn entry(&mut self, method: &str, asker: Option<&Asker>) -> Entry {
        if !self.is_login_needed() {
            return Entry::Free;
        }
        self.login_changed();
        let now = Instant::now();
        if self.login.as_mut().is_some_and(|login| login.may_look(now)) {
            self.upstream.reach_now();
            return Entry::Free;
        }
        self.entry_after_refusal(method, asker)
    }

    /// Decides about a call that must not go out, or was refused for want of a login.
    fn entry_after_refusal(&mut self, method: &str, asker: Option<&Asker>) -> Entry {
        let can_show = self.can_show_page_to(asker);
        let Some(login) = self.login.as_mut().filter(|_| can_show) else { return Entry::Refused };
        login.offer(Instant::now());
        match (login.under_way(), asker) {
            (Some(gate), _) if !can_ask(method) => {
                drop(gate);
                Entry::Refused
            }
            (Some(gate), Some(asker)) if !asker.has_visited => Entry::Waits(gate, Wait::Page),
            (Some(gate), _) => Entry::Waits(gate, Wait::Login),
            (None, _) => Entry::Refused,
        }
    }

    fn can_show_page_to(&self, asker: Option<&Asker>) -> bool {
        match asker {
            Some(asker) => asker.can_be_asked && asker.offers.urls(),
            None => self.is_ready && self.can_show_pages,
        }
    }

    /// Handles a call that the upstream refused because a person must log in: it waits for the login and is
    /// made again, or ends. Returns every other call.
    pub(super) fn retried_after_login(&mut self, finished: Finished) -> Option<Finished> {
        let is_refused = finished.end.is_unauthorized() && self.is_login_needed();
        if !is_refused {
            if let (End::Upstream(Ok(_)), Some(login)) = (&finished.end, &self.login) {
                login.token_accepted();
            }
            return self.retried_with_more_scope(finished);
        }
        self.login_changed();
        match self.entry_after_refusal(&finished.method, finished.asker.as_ref()) {
            Entry::Waits(gate, wait) if finished.id.is_some() => {
                self.wait_for_login(finished, gate, wait);
                None
            }
            _ => Some(Finished { end: self.without_login(finished.page), ..finished }),
        }
    }

    /// Handles a call that lacks scope: it waits while the host's person decides, and is made again. Returns every
    /// other call.
    fn retried_with_more_scope(&mut self, finished: Finished) -> Option<Finished> {
        let asker = finished.asker.as_ref();
        let can_wait = finished.end.lacks_scope()
            && finished.id.is_some()
            && can_ask(&finished.method)
            && self.can_show_page_to(asker);
        let has_visited = asker.is_none_or(|asker| asker.has_visited);
        let wait = if has_visited { Wait::Login } else { Wait::Page };
        let login = self.login.as_mut().filter(|_| can_wait);
        match login.and_then(|login| login.step_up.offer(Instant::now())) {
            Some(gate) => {
                self.wait_for_login(finished, gate, wait);
                None
            }
            None => Some(finished),
        }
    }

    fn wait_for_login(&mut self, finished: Finished, gate: watch::Receiver<Gate>, wait: Wait) {
        let Finished { id: Some(id), method, params, asker, .. } = finished else { return };
        let mut call = self.client.request(&*method, params.clone());
        if asker.is_some() {
            call = call.fresh().passing_input();
        }
        let call = self.manner.apply(call, &method, params.as_ref());
        let asked = Asked { id, method, params, asker };
        self.begin_waiting(call, asked, (gate, wait));
    }

    /// Returns the outcome of a request that needs a login: a list that was kept is still shown.
    pub(super) fn without_login(&mut self, page: Option<Page>) -> End {
        let Some(page) = page else { return End::LoginNeeded };
        let is_provisional = self.upstream.server().is_none() && self.greeted.is_provisional();
        let is_wanted = page.is_first && is_provisional;
        let list = |it: &Catalogue| it.list(page.kind.method()).cloned();
        match self.catalogue.as_ref().filter(|_| is_wanted).and_then(list) {
            Some(kept) => End::StandIn(kept),
            None => {
                self.refused_lists.insert(page.kind);
                End::LoginNeeded
            }
        }
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
            LoginNews::Ended(done) => self.login_ended(done),
            LoginNews::Page(prompt) => self.show_page(&prompt),
            LoginNews::ScopeEnded(done) => self.step_up_ended(done),
            LoginNews::ScopePage(prompt) => self.show_scope_page(&prompt),
        }
    }

    /// Handles that a person must log in, or has logged in.
    pub(super) fn login_changed(&mut self) {
        let Some(login) = &mut self.login else { return };
        match login.settle(Instant::now()) {
            None => {}
            Some(Access::Closed(reason)) => {
                let words = login.words(&reason);
                self.voice.say(Some(&words));
                self.leave_upstream_alone();
                self.greet_without_upstream();
            }
            Some(Access::Open) => self.somebody_has_logged_in(),
        }
    }

    /// Stops the attempts to connect until a person has logged in.
    pub(super) fn leave_upstream_alone(&mut self) {
        let reason = self.login.as_ref().and_then(LoginFlow::needed);
        let may_pass = reason.is_some_and(|reason| reason.may_pass());
        self.upstream.pause(may_pass.then_some(TRY_AGAIN));
    }

    fn somebody_has_logged_in(&mut self) {
        self.voice.say(Some("somebody has logged in; going on"));
        let closing = self.login.as_mut().map(|it| it.ended(Instant::now(), None));
        self.close_page(closing.unwrap_or_default());
        if self.upstream.server().is_none() {
            // The lists are announced when the upstream is reached.
            return self.upstream.reach_now();
        }
        let refused = std::mem::take(&mut self.refused_lists);
        self.announce_lists(refused);
        self.check_lists();
    }

    /// Tells the host to ask for these lists again.
    pub(super) fn announce_lists(&mut self, kinds: BTreeSet<Kind>) {
        let changed: BTreeSet<_> = kinds.into_iter().map(Kind::changed).collect();
        changed.into_iter().for_each(|method| self.announce(method, None));
    }

    fn login_ended(&mut self, done: Result<(), LoginFailure>) {
        let failure = done.err().map(|error| harmless(&with_causes(&error)));
        let closing = self.login.as_mut().map(|it| it.ended(Instant::now(), failure.as_deref()));
        self.close_page(closing.unwrap_or_default());
        if let Some(why) = failure {
            self.voice.say(Some(&format!("the login that the host was asked for failed: {why}")));
        }
        self.login_changed();
    }

    fn show_page(&mut self, prompt: &LoginPrompt) {
        let Some(login) = &mut self.login else { return };
        let Some((id, page)) = login.page(prompt) else { return };
        if self.is_ready && self.can_show_pages {
            login.request_sent();
            self.outbox.own_request(&id, "elicitation/create", &page);
        }
        self.voice.say(Some("the host was asked to show the page of the login"));
    }

    fn show_scope_page(&mut self, prompt: &LoginPrompt) {
        let Some(login) = &mut self.login else { return };
        let Some((id, page)) = login.step_up.page(prompt) else { return };
        if self.is_ready && self.can_show_pages {
            login.step_up.request_sent();
            self.outbox.own_request(&id, "elicitation/create", &page);
        }
        self.voice.say(Some("a call needs more scope; the host was asked to show the page for it"));
    }

    fn step_up_ended(&mut self, done: Result<(), LoginFailure>) {
        let closing = self.login.as_mut().map(|it| it.step_up.ended(Instant::now()));
        self.close_page(closing.unwrap_or_default());
        if let Err(error) = done {
            let why = harmless(&with_causes(&error));
            self.voice.say(Some(&format!("more scope was not granted: {why}")));
        }
    }

    /// Tells the host that a page is over.
    fn close_page(&mut self, closing: Closing) {
        if let Some(id) = closing.withdrawn {
            let params = Json::from(serde_json::json!({
                "requestId": id, "reason": "the login is over",
            }));
            self.outbox.notification(notification::CANCELLED, Some(&params));
        }
        if let Some(id) = closing.completed {
            let params = Json::from(serde_json::json!({ "elicitationId": id }));
            self.outbox.notification(notification::ELICITATION_COMPLETE, Some(&params));
        }
    }

    /// Takes an answer of the host, if it belongs to the page of the login. Returns whether it does.
    pub(super) fn page_answered(&mut self, id: &Id, answer: &Answer) -> bool {
        let now = Instant::now();
        self.login.as_mut().is_some_and(|login| {
            login.answered(now, id.json(), answer) || login.step_up.answered(now, id.json(), answer)
        })
    }

    /// Handles that the person of a host of the stateless revision did not visit a page.
    pub(super) fn login_declined(&mut self) {
        if let Some(login) = &mut self.login {
            login.declined();
            login.step_up.declined();
        }
    }

    /// Returns the login that is needed, for people.
    pub(super) fn login_snapshot(&self) -> Option<NeededLogin> {
        let login = self.login.as_ref()?;
        let reason = short(&login.needed()?.to_string());
        Some(NeededLogin { reason, command: short(login.command()) })
    }
}

/// How long an upstream is left alone that refuses what it granted: it may have a fault.
const TRY_AGAIN: Duration = Duration::from_secs(300);
