//! Events of the link: shown to people, and told to the host where its lists are concerned.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use ridethrough::event::Seen;
use ridethrough::wording;
use ridethrough_core::Event;
use ridethrough_wire::message::Json;
use ridethrough_wire::mirror::Unfit;
use tokio::io::AsyncWrite;
use tokio::time::Instant;

use super::Router;
use crate::catalogue::Catalogue;
use crate::gauge::short;
use crate::harmless::{excerpt, harmless};
use crate::lists::{self, Fetched, Kind};
use crate::news::Detail;

impl<W: AsyncWrite + Unpin> Router<W> {
    pub(super) fn watch(&mut self, seen: &Seen) {
        let (at, event) = match seen {
            Seen::Event { at, event } => (*at, event),
            // A missed event may have been one about lists.
            Seen::Missed(_) => return self.check_lists(),
        };
        if self.voice.detail == Detail::Everything {
            self.voice.say(Some(&excerpt(&wording::of(event, at).words)));
        }
        let line = self.news.heard(Instant::now(), event);
        self.voice.say(line.as_deref());
        match event {
            Event::EraDowngraded => self.voice.say(Some(DOWNGRADED)),
            Event::ToolDropped { tool, why } => self.tool_dropped(tool, why),
            Event::SessionReady { version, .. } => {
                self.is_stateless = !version.era().has_sessions();
                self.sessions += 1;
                if self.sessions > 1 {
                    self.check_lists();
                }
            }
            Event::ListenerBack { gap } if *gap >= WORTH_A_LOOK => self.check_lists(),
            _ => {}
        }
    }

    /// Tells people once of a tool that is left out of lists.
    fn tool_dropped(&mut self, tool: &Arc<str>, why: &Unfit) {
        if self.dropped.len() < MOST_DROPPED && self.dropped.insert(tool.clone()) {
            let words = format!("warning: the tool `{tool}` cannot be called: {why}");
            self.voice.say(Some(&short(&words)));
        }
    }

    /// Fetches the lists that the host has seen, to compare them.
    pub(super) fn check_lists(&mut self) {
        if self.checking.is_some() {
            self.is_check_due = true;
            return;
        }
        if self.is_login_needed() {
            // They are checked when a person has logged in.
            return;
        }
        self.check_again = None;
        let kinds = self.lists.kinds();
        if kinds.is_empty() {
            return;
        }
        let client = self.client.clone();
        let looking = join_all(kinds.into_iter().map(move |kind| {
            let client = client.clone();
            async move { (kind, lists::fetch(client, kind).await) }
        }));
        self.checking = Some(Box::pin(looking));
    }

    /// Compares the lists that were fetched with those that the host has seen.
    pub(super) fn compare_lists(&mut self, fetched: Vec<(Kind, Fetched)>) {
        let has_failed = fetched.iter().any(|(_, it)| matches!(it, Fetched::Failed));
        let mut changed = BTreeSet::new();
        for (kind, fetched) in fetched {
            if let Fetched::Whole(elements) = &fetched {
                let keep = |it: &mut Catalogue| it.keep_list(kind.method(), &kind.result(elements));
                let kept = self.catalogue.as_mut().map(keep);
                self.told_if_not_kept(kept);
            }
            let is_shown = |element: &Json| kind != Kind::Tools || self.hidden.shows(element);
            if self.lists.renew(kind, fetched, is_shown) {
                changed.insert(kind.changed());
            }
        }
        changed.into_iter().for_each(|method| self.announce(method, None));
        if std::mem::take(&mut self.is_check_due) {
            self.check_lists();
        }
        self.check_after_a_failure(has_failed);
    }

    /// Plans another check after a failed one: no other event may come that would cause it.
    fn check_after_a_failure(&mut self, has_failed: bool) {
        if !has_failed {
            self.failed_checks = 0;
            return;
        }
        let pause = FIRST_PAUSE * 2_u32.pow(self.failed_checks.min(MOST_DOUBLINGS));
        self.failed_checks += 1;
        if self.checking.is_none() {
            self.check_again = Some(Instant::now() + pause);
        }
    }

    /// Tells people once that the catalogue cannot be written. The bridge goes on without it.
    pub(super) fn told_if_not_kept(&mut self, kept: Option<io::Result<()>>) {
        if let Some(Err(error)) = kept {
            let words =
                format!("what the upstream says of itself could not be kept on disk: {error}");
            self.voice.say(Some(&harmless(&words)));
            self.catalogue = None;
        }
    }
}

/// The shortest outage after which the lists are checked. Proxies cut streams every minute or so; a stream
/// that is reopened sooner than this has missed nothing worth a request.
const WORTH_A_LOOK: Duration = Duration::from_secs(2);
/// The first pause after a failed check. The client has been patient for its own time before this.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
/// How often the pause doubles: to half an hour at most, because a host that needs a list asks for it.
const MOST_DOUBLINGS: u32 = 5;
/// The most tools that people are told of, in case a server invents a new tool with each list.
const MOST_DROPPED: usize = 1000;
const DOWNGRADED: &str = "warning: the upstream was stateless when it was last asked, and wants sessions now: \
     it was rolled back, or somebody in between changes what is said; `--era modern` refuses that";
