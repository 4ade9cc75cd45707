//! A call, from its entry to the answer that the caller gets.

use std::time::Duration;

use ridethrough::Call;
use ridethrough_core::CallError;
use ridethrough_wire::message::{Answer, Json, ListKind as Kind, reserved, splice};
use tokio::time::Instant;

use super::Upstream;
use super::logging_in::Entry;
use super::way::{End, Ended, Way};
use crate::fault;
use crate::lists::Page;
use crate::login::{Wait, Waiting, page_required};

impl Upstream {
    /// Returns the answer to the call of a tool that is not sent: the tool is hidden, or the call repeats one that
    /// may have run.
    pub fn answer_unsent(&mut self, params: Option<&Json>) -> Option<Answer> {
        if let Some(refusal) = self.hidden.refusal(params) {
            return Some(refusal);
        }
        let doubt = self.repeats.ask(&self.caller, params)?;
        self.voice.say("a repeat of a call that may have run was not sent");
        Some(doubt.answer_to_repeat(self.manner.doubt))
    }

    /// Begins a call. If its person must log in, it waits for this; `None` if they cannot be shown a page. If the
    /// future is dropped, the call is cancelled.
    pub fn begin(
        &mut self,
        call: Call,
        method: &str,
        params: Option<&Json>,
        shown: Option<Wait>,
    ) -> impl Future<Output = Ended> + Send + use<> {
        let page = Page::asked(method, params);
        let call = self.manner.apply(call, method, params);
        let way = match self.entry(method, shown) {
            Entry::Free => self.way(call, page),
            Entry::Refused => Way::Over(self.without_login(page)),
            Entry::Waits(waiting) => Way::Waits(Box::new((call, waiting, method.into()))),
        };
        self.goes(way, page)
    }

    /// Makes a call again when its wait is over.
    pub fn begin_again(
        &self,
        call: Call,
        method: &str,
        params: Option<&Json>,
        waiting: Waiting,
    ) -> impl Future<Output = Ended> + Send + use<> {
        let call = self.manner.apply(call, method, params);
        self.goes(Way::Waits(Box::new((call, waiting, method.into()))), None)
    }

    fn goes(&self, way: Way, page: Option<Page>) -> impl Future<Output = Ended> + Send + use<> {
        let (calls_end, limit) = (self.calls_end.clone(), self.manner.limit);
        async move { Ended { page, end: way.end(calls_end, limit).await } }
    }

    fn way(&mut self, mut call: Call, page: Option<Page>) -> Way {
        let kept = page.filter(|page| self.may_stand_in(*page));
        let kept = kept.map(|page| self.kept_list(page));
        if kept == Some(None) {
            call = call.timeout(FIRST_LIST.min(self.manner.limit.unwrap_or(FIRST_LIST)));
        }
        if let Some(page) = page {
            self.lists.ask(page.kind);
        }
        match kept.flatten() {
            Some(kept) => Way::StandIn(call.answer(), kept),
            None => Way::Free(call.answer()),
        }
    }

    /// Whether a kept list may take the place of this page: the caller must make do without the upstream.
    fn may_stand_in(&self, page: Page) -> bool {
        page.is_first && self.server().is_none() && self.described.is_provisional()
    }

    fn kept_list(&self, page: Page) -> Option<Json> {
        self.kept.as_ref()?.list(page.kind).cloned()
    }

    /// Returns the end of a call that needs a login: a list that was kept is still shown.
    fn without_login(&mut self, page: Option<Page>) -> End {
        let Some(page) = page else { return End::LoginNeeded };
        match self.kept_list(page).filter(|_| self.may_stand_in(page)) {
            Some(kept) => End::StandIn(kept),
            None => {
                self.lists.refuse(page.kind);
                End::LoginNeeded
            }
        }
    }

    /// Takes in the end of a call. One that was refused because a person must log in, or for lack of scope, waits and
    /// is [made again](Self::begin_again), if the caller still waits for it.
    pub fn settle(
        &mut self,
        ended: Ended,
        method: &str,
        shown: Option<Wait>,
        is_awaited: bool,
    ) -> Result<Ended, Waiting> {
        if ended.is_unauthorized() && self.is_login_needed() {
            self.login_changed();
            return match self.wait_for_login(method, shown) {
                Some(waiting) if is_awaited => Err(waiting),
                _ => Ok(Ended { end: self.without_login(ended.page), ..ended }),
            };
        }
        let Some(login) = &mut self.login else { return Ok(ended) };
        if let End::Upstream(Ok(_)) = &ended.end {
            login.token_accepted();
        }
        let shown = shown.filter(|_| is_awaited && ended.lacks_scope());
        login.wait_for_scope(Instant::now(), method, shown).map_or(Ok(ended), Err)
    }

    /// Returns the answer to a call that began then, in the words of the upstream's era.
    pub fn answer(
        &mut self,
        ended: Ended,
        method: &str,
        params: Option<&Json>,
        began: Instant,
    ) -> Answer {
        let Ended { page, end } = ended;
        match (end, page) {
            (End::StandIn(kept), Some(page)) => {
                let shown = self.shown(page, kept, false);
                if self.server().is_some() {
                    // The upstream was reached while the caller was given a stand-in.
                    self.check_lists();
                }
                Answer::Result(marked(&shown))
            }
            (End::StandIn(kept), None) => Answer::Result(kept),
            (End::LoginNeeded, page) => {
                if let Some(page) = page {
                    self.lists.miss(page.kind);
                }
                self.login_needed()
            }
            (End::LoginPage(page), _) => page_required(page),
            (End::Upstream(Ok(answer)), page) => {
                self.repeats.looked(&self.caller, method, &answer, began);
                match (answer, page) {
                    (Answer::Result(list), Some(page)) => {
                        Answer::Result(self.shown(page, list, true))
                    }
                    (answer, _) => answer,
                }
            }
            (End::Upstream(Err(error)), page) => {
                if let Some(page) = page.filter(|_| self.described.is_provisional()) {
                    self.lists.miss(page.kind);
                }
                self.unanswered(&error, params, began)
            }
        }
    }

    /// Returns what the caller is told of a call that got no answer.
    fn unanswered(&mut self, error: &CallError, params: Option<&Json>, began: Instant) -> Answer {
        let Some(doubt) = fault::doubt(error) else { return self.refusal(error) };
        self.repeats.told(&self.caller, error, params, began, &doubt);
        let told = doubt.answer(self.manner.doubt.of_call(error, params));
        // Results are masked nowhere else.
        fault::masked(told, &self.voice.masker().secrets())
    }

    /// Returns the list as the caller sees it; one that is new is kept.
    fn shown(&mut self, page: Page, list: Json, is_new: bool) -> Json {
        let whole = self.lists.saw(page, &list);
        if let Some(whole) = whole.filter(|_| is_new) {
            self.keep(|it| it.keep_list(page.kind, &whole));
        }
        match page.kind {
            Kind::Tools => self.hidden.filter(list),
            _ => list,
        }
    }

    /// Ends all calls that are out, because the program ends.
    pub fn end_calls(&self) {
        self.calls_end.begin();
    }

    /// Whether all calls must end.
    pub fn is_ending(&self) -> bool {
        self.calls_end.has_begun()
    }
}

/// Marks a list as what was last known. Its elements stay as they were: hosts compare definitions with those that a
/// person has seen.
fn marked(list: &Json) -> Json {
    let yes = Json::of(&true).expect("a bool is JSON");
    let meta = Json::empty_object().with_members([(reserved::LAST_KNOWN.to_owned(), yes)]);
    splice::with_member(list, "_meta", &meta)
}

/// How long a list of a server that was never reached is waited for: hosts begin with the lists of all
/// their servers, and some show nothing until they have them.
const FIRST_LIST: Duration = Duration::from_secs(10);
