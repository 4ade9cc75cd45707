//! The task that carries the messages and ends of one client's calls into its queue.
//!
//! The server's messages come before the end of the call that they were sent for: when a call has ended, the
//! inbox is read empty first. A cancelled call is dropped, which is how the link learns of it, and nothing
//! more is reported about it. All events come before the end of the client.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture, FutureExt};
use futures_util::stream::FuturesUnordered;
use ridethrough::event::{Answer, Delivered, Events, Inbox, QuestionId, Seen};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::event::{self, Level};
use crate::messages;
use crate::queue::{Item, ItemKind, Queue};

/// The name of a call, by which it can be cancelled.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum CallKey {
    /// The id of a request of the SDK, as JSON.
    Id(Box<str>),
    Number(u64),
}

pub(crate) enum PorterCommand {
    Answer {
        question: QuestionId,
        answer: Answer,
    },
    Begin {
        key: CallKey,
        call: Ending,
    },
    Cancel(CallKey),
    /// Ends a call that is not sent, and tells of it.
    EndHeld {
        item: Item,
        event: Vec<u8>,
    },
    /// Runs a future that Python does not wait for.
    Perform(BoxFuture<'static, ()>),
    Watch(Events, Level),
}

/// A call, which resolves to the item that reports its end.
pub(crate) type Ending = BoxFuture<'static, Item>;

/// The form in which the server's messages are reported.
#[derive(Clone, Copy)]
pub(crate) enum Wording {
    /// As method and params.
    Plain,
    /// As whole JSON-RPC messages.
    WholeMessages,
}

pub(crate) struct Porter {
    pub(crate) inbox: Inbox,
    pub(crate) events: Option<(Events, Level)>,
    pub(crate) commands: UnboundedReceiver<PorterCommand>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) wording: Wording,
    pub(crate) running: Running,
}

#[derive(Default)]
pub(crate) struct Running {
    calls: FuturesUnordered<Abortable<BoxFuture<'static, (CallKey, Item)>>>,
    handles: HashMap<CallKey, AbortHandle>,
    others: FuturesUnordered<BoxFuture<'static, ()>>,
}

impl Porter {
    /// Runs until the client is closed and every call has ended, or until Python has dropped the client.
    pub(crate) async fn run(mut self) {
        let mut is_inbox_over = false;
        loop {
            let has_room = self.queue.has_room();
            tokio::select! {
                biased;
                command = self.commands.recv() => match command {
                    Some(command) => self.obey(command),
                    None => return,
                },
                delivered = self.inbox.next(), if has_room && !is_inbox_over => match delivered {
                    Some(delivered) => self.hand_over(delivered),
                    None => is_inbox_over = true,
                },
                Some(ended) = self.running.calls.next(), if !self.running.calls.is_empty() => {
                    if let Ok((key, item)) = ended {
                        self.running.handles.remove(&key);
                        self.tell_all_before(&mut is_inbox_over);
                        self.queue.push(item);
                    }
                },
                Some(()) = self.running.others.next(), if !self.running.others.is_empty() => {},
                seen = next(&mut self.events), if has_room => match seen {
                    Some((seen, level)) => self.tell_event(&seen, level),
                    None => self.events = None,
                },
                () = self.queue.room(), if !has_room => {},
            }
            // Events end with the client, and some tell of calls whose ends are in the queue already.
            let is_all_told = is_inbox_over && self.events.is_none();
            if is_all_told && self.running.calls.is_empty() && self.running.others.is_empty() {
                self.queue.push(Item::new(ItemKind::Over, 0, ""));
                return self.refuse_the_rest().await;
            }
        }
    }

    /// Hands over the server's messages from before its answer.
    fn tell_all_before(&mut self, is_inbox_over: &mut bool) {
        while !*is_inbox_over && self.queue.has_room() {
            match self.inbox.next().now_or_never() {
                Some(Some(delivered)) => self.hand_over(delivered),
                Some(None) => *is_inbox_over = true,
                None => return,
            }
        }
    }

    fn obey(&mut self, command: PorterCommand) {
        match command {
            PorterCommand::Answer { question, answer } => self.inbox.answer(question, answer),
            PorterCommand::Begin { key, call } => {
                let (handle, registration) = AbortHandle::new_pair();
                // A second call of that name replaces the first.
                if let Some(earlier) = self.running.handles.insert(key.clone(), handle) {
                    earlier.abort();
                }
                let call = call.map(|item| (key, item)).boxed();
                self.running.calls.push(Abortable::new(call, registration));
            }
            PorterCommand::Cancel(key) => {
                if let Some(handle) = self.running.handles.remove(&key) {
                    handle.abort();
                }
            }
            PorterCommand::EndHeld { item, event } => {
                if self.events.is_some() {
                    self.queue.push(Item::new(ItemKind::Event, 0, event));
                }
                self.queue.push(item);
            }
            PorterCommand::Perform(other) => self.running.others.push(other),
            // Another reader: the events that are on their way to the first would be lost with the stream.
            PorterCommand::Watch(events, level) => match &mut self.events {
                Some((_, least)) => *least = level,
                None => self.events = Some((events, level)),
            },
        }
    }

    fn tell_event(&self, seen: &Seen, level: Level) {
        if let Some(json) = event::json(seen, level) {
            self.queue.push(Item::new(ItemKind::Event, 0, json));
        }
    }

    fn hand_over(&self, delivered: Delivered) {
        let item = match self.wording {
            Wording::Plain => messages::plain(delivered),
            Wording::WholeMessages => messages::whole(delivered),
        };
        if let Some(item) = item {
            self.queue.push(item);
        }
    }

    /// Lets calls that begin on a closed client end with the client's own error.
    async fn refuse_the_rest(mut self) {
        while let Some(command) = self.commands.recv().await {
            match command {
                PorterCommand::Begin { call, .. } => {
                    let item = call.await;
                    self.queue.push(item);
                }
                PorterCommand::EndHeld { item, .. } => self.queue.push(item),
                _ => {}
            }
        }
    }
}

async fn next(events: &mut Option<(Events, Level)>) -> Option<(Seen, Level)> {
    match events {
        Some((events, level)) => events.next().await.map(|seen| (seen, *level)),
        None => std::future::pending().await,
    }
}
