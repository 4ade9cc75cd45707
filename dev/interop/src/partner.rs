//! Our client as an application uses it: it makes calls, answers the server's questions, and records
//! notifications.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ridethrough::event::{Event, Events, Notifications, Seen};
use ridethrough::model::{Content, Elicited, Notification, Root, SamplingResult, ToolResult};
use ridethrough::{Call, Client, ClientBuilder, Era, Error};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::surface::Question;

/// The result of a check: nothing, or why it did not pass, in words for people.
pub(crate) type Verdict<T = ()> = Result<T, String>;

/// A client, and all notifications that it got.
pub(crate) struct Partner {
    pub(crate) client: Client,
    events: Events,
    told: Told,
}

impl Partner {
    /// Returns a client that can answer everything that a server may ask.
    pub(crate) fn built(builder: ClientBuilder) -> Verdict<Self> {
        let asked = Arc::new(Mutex::new(0));
        let counter = asked.clone();
        let client = builder
            .on_form(move |_| {
                *counter.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                async { Elicited::accepted() }
            })
            .on_sampling(|request| async move {
                let prompt = request.messages.first().and_then(|message| message.content.first());
                let prompt = prompt.and_then(Content::as_text).unwrap_or("nothing");
                Ok(SamplingResult::text("none", format!("{SAMPLED} {prompt}")))
            })
            .roots([Root::new(ROOT).named("a folder")])
            .build()
            .map_err(words)?;
        let told = Told { asked, ..Told::default() };
        tokio::spawn(remember(client.notifications(), told.clone()));
        let events = client.events();
        Ok(Self { client, events, told })
    }

    /// Begins a call of a tool.
    pub(crate) fn begin(&self, question: Question) -> Call<ToolResult> {
        self.client.call_tool(question.tool, question.arguments)
    }

    /// Calls a tool, and checks that the answer contains what is expected.
    pub(crate) async fn call(&self, question: Question) -> Verdict<String> {
        let answer = question.answer.clone();
        let result = self.begin(question).await.map_err(story)?;
        holds(&result, &answer)
    }

    /// Waits for a notification for which `is_it` is true.
    pub(crate) async fn hears(&self, is_it: impl Fn(&Notification) -> bool) -> Verdict {
        let hearing = async {
            loop {
                let news = self.told.news.notified();
                if self.told.list().iter().any(&is_it) {
                    return;
                }
                news.await;
            }
        };
        let heard = timeout(HEARING, hearing).await;
        heard.map_err(|_| format!("it was not told within {} s", HEARING.as_secs()))
    }

    /// Returns how many such notifications came.
    pub(crate) fn times_told(&self, is_it: impl Fn(&Notification) -> bool) -> usize {
        self.told.list().iter().filter(|it| is_it(it)).count()
    }

    /// Returns how many forms the server asked for.
    pub(crate) fn forms(&self) -> usize {
        *self.told.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn forget(&self) {
        self.told.list().clear();
    }

    /// Returns how many sessions were opened since the last call of this method.
    pub(crate) fn sessions(&mut self) -> usize {
        let mut sessions = 0;
        while let Some(seen) = self.events.try_next() {
            let is_session = matches!(seen, Seen::Event { event: Event::SessionReady { .. }, .. });
            sessions += usize::from(is_session);
        }
        sessions
    }

    /// Returns the eras that were found since the last call of this method.
    pub(crate) fn eras(&mut self) -> Vec<Era> {
        let mut eras = Vec::new();
        while let Some(seen) = self.events.try_next() {
            if let Seen::Event { event: Event::EraFound { era, .. }, .. } = seen {
                eras.push(era);
            }
        }
        eras
    }

    pub(crate) async fn close(self) {
        self.client.close().await;
    }
}

#[derive(Clone, Default)]
struct Told {
    list: Arc<Mutex<Vec<Notification>>>,
    news: Arc<Notify>,
    asked: Arc<Mutex<usize>>,
}

impl Told {
    fn list(&self) -> MutexGuard<'_, Vec<Notification>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn remember(mut notifications: Notifications, told: Told) {
    while let Some(notification) = notifications.next().await {
        told.list().push(notification);
        told.news.notify_waiters();
    }
}

/// Returns the text of a tool's answer, if it contains this.
pub(crate) fn holds(result: &ToolResult, answer: &str) -> Verdict<String> {
    let text = result.text();
    expect(!result.is_error, || format!("the tool failed: {}", short(&text)))?;
    // Some tools answer with more than text.
    let is_there = text.contains(answer) || result.json.as_str().contains(answer);
    expect(is_there, || format!("expected `{}`, got `{}`", short(answer), short(&text)))?;
    Ok(text)
}

pub(crate) fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise()) }
}

pub(crate) fn words(error: impl std::fmt::Display) -> String {
    format!("{error:#}")
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
pub(crate) fn story(error: Error) -> String {
    error.report().replace('\n', ";")
}

pub(crate) fn short(text: &str) -> String {
    text.chars().take(200).collect()
}

pub(crate) const ROOT: &str = "file:///interop/root";
pub(crate) const SAMPLED: &str = "a message about:";
/// How long to wait for a notification.
const HEARING: Duration = Duration::from_secs(3);
