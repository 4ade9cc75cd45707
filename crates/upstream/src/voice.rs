//! The output for people: where it goes, how much they are told, and what is masked in it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use ridethrough::wording;
use ridethrough_core::answer::words::excerpt;
use ridethrough_core::{Event, Moment};
use ridethrough_oauth::Account;
use ridethrough_wire::mirror::Unfit;
use ridethrough_wire::secrets::Secrets;
use tokio::time::{Instant, sleep_until};

use crate::gauge::short;
use crate::news::{Detail, News};

/// The function that shows people a line.
pub type Tell = Box<dyn FnMut(&str) + Send>;

/// The secrets that are sent to the upstream and must reach no one else.
#[derive(Clone, Default)]
pub struct Masker {
    /// Those that were configured.
    pub configured: Secrets,
    /// Whose tokens are secrets, too; they change all the time.
    pub account: Option<Account>,
}

/// The output for people.
pub(crate) struct Voice {
    tell: Option<Tell>,
    detail: Detail,
    masker: Masker,
    news: News,
    /// What people were last told about an upstream that cannot be connected to.
    refusal: Option<String>,
    /// Tools that people were told are left out of lists.
    dropped: BTreeSet<Arc<str>>,
}

impl Masker {
    /// Returns the secrets at this moment.
    pub fn secrets(&self) -> Cow<'_, Secrets> {
        let tokens = self.account.as_ref().map(Account::tokens_in_use).unwrap_or_default();
        if tokens.is_empty() {
            return Cow::Borrowed(&self.configured);
        }
        let mut secrets = self.configured.clone();
        tokens.iter().for_each(|token| secrets.keep(token.expose()));
        Cow::Owned(secrets)
    }
}

impl Voice {
    pub(crate) fn new(tell: Option<Tell>, detail: Detail, masker: Masker) -> Self {
        let (refusal, dropped) = (None, BTreeSet::new());
        Self { tell, detail, masker, news: News::new(detail), refusal, dropped }
    }

    pub(crate) const fn masker(&self) -> &Masker {
        &self.masker
    }

    pub(crate) const fn news(&self) -> &News {
        &self.news
    }

    /// Shows people a line, if there is a function to show it.
    pub(crate) fn say(&mut self, line: &str) {
        if let Some(tell) = &mut self.tell {
            tell(&self.masker.secrets().masked(line));
        }
    }

    /// Shows people why the upstream cannot be connected to, unless that is what they were last shown.
    pub(crate) fn say_refusal(&mut self, report: String) {
        if self.refusal.as_ref() != Some(&report) {
            self.say(&report);
            self.refusal = Some(report);
        }
    }

    /// Tells people of an event of the link that happened at this moment, as far as they want to know.
    pub(crate) fn hear(&mut self, event: &Event, at: Moment) {
        if self.detail == Detail::Everything {
            self.say(&excerpt(&wording::of(event, at).words));
        }
        if let Some(line) = self.news.heard(Instant::now(), event) {
            self.say(&line);
        }
        match event {
            Event::EraDowngraded => self.say(DOWNGRADED),
            Event::ToolDropped { tool, why } => self.tool_dropped(tool, why),
            _ => {}
        }
    }

    /// Tells people once of a tool that is left out of lists.
    fn tool_dropped(&mut self, tool: &Arc<str>, why: &Unfit) {
        if self.dropped.len() < MOST_DROPPED && self.dropped.insert(tool.clone()) {
            let words = format!("warning: the tool `{tool}` cannot be called: {why}");
            self.say(&short(&words));
        }
    }

    /// Waits until a reminder is due.
    pub(crate) fn reminder(&self) -> impl Future<Output = ()> + Send + use<> {
        let due = self.news.due();
        async move {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Shows people the reminder that is due.
    pub(crate) fn remind(&mut self) {
        if let Some(line) = self.news.remind(Instant::now()) {
            self.say(&line);
        }
    }
}

/// The most tools that people are told of, in case a server invents a new tool with each list.
const MOST_DROPPED: usize = 1000;
const DOWNGRADED: &str = "warning: the upstream was stateless when it was last asked, and wants sessions now: \
     it was rolled back, or somebody in between changes what is said; `--era modern` refuses that";
