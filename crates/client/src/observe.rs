//! Events for observers: as data, and as `tracing` records.
//!
//! The link never waits for an observer. One that is too slow loses the oldest events and is told how many.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::{FutureExt, Stream};
use ridethrough_core::{Era, Event, Moment};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::unconstrained;
use tokio_util::sync::ReusableBoxFuture;
use tracing::{debug, info, warn};

/// The observers of one link. Their streams end when it is closed or gone.
pub(crate) struct Observers {
    stage: Stage,
    endpoint: String,
    on_era: Option<OnEra>,
}

/// The hook for the server's era.
pub(crate) type OnEra = Box<dyn Fn(Era) + Send + Sync>;

/// The handle from which new observers are made; it keeps nothing alive.
#[derive(Clone)]
pub(crate) struct Lookout(Stage);

/// What the link and its observers share.
#[derive(Clone)]
struct Stage(Arc<Mutex<Audience>>);

/// Whether there are observers.
enum Audience {
    /// There was never one. The buffer for events takes a hundred kilobytes, and is made only for an
    /// observer.
    Unwatched,
    Watched(broadcast::Sender<Seen>),
    /// No event follows.
    Over,
}

impl Observers {
    pub(crate) fn new(endpoint: String, on_era: Option<OnEra>) -> (Self, Lookout) {
        let stage = Stage(Arc::new(Mutex::new(Audience::Unwatched)));
        let lookout = Lookout(stage.clone());
        (Self { stage, endpoint, on_era }, lookout)
    }

    pub(crate) fn tell(&self, at: Moment, event: Event) {
        self.trace(&event);
        if let (Some(on_era), Event::EraFound { era }) = (&self.on_era, &event) {
            // A panic of the hook must not end any call.
            let _ = panic::catch_unwind(AssertUnwindSafe(|| on_era(*era)));
        }
        if let Audience::Watched(sender) = &*self.stage.lock()
            && sender.receiver_count() > 0
        {
            // The last observer may have just left.
            let _ = sender.send(Seen::Event { at, event });
        }
    }

    /// Ends the streams of all observers.
    pub(crate) fn dismiss(&self) {
        *self.stage.lock() = Audience::Over;
    }

    /// Writes a `tracing` record: ordinary ends of calls for developers, trouble for operators.
    fn trace(&self, event: &Event) {
        let endpoint = self.endpoint.as_str();
        match event {
            Event::CallEnded { call, kind: None, attempts, elapsed, .. } => {
                debug!(endpoint, %call, attempts, ?elapsed, "call answered");
            }
            Event::CallEnded { call, kind: Some(kind), attempts, elapsed, delivery, .. } => {
                warn!(endpoint, %call, ?kind, attempts, ?elapsed, ?delivery, "call failed");
            }
            Event::Hiccup { call, reason, remedy, .. } => {
                info!(endpoint, %call, %reason, ?remedy, "call goes on after a fault");
            }
            Event::StaleServed { call, age, kind, .. } => {
                warn!(endpoint, %call, ?age, ?kind, "an old result was given: there is no new one");
            }
            Event::BreakerOpened { .. }
            | Event::ConnectFailed { .. }
            | Event::CredentialsFailed { .. }
            | Event::EraDowngraded
            | Event::NotificationDropped { .. }
            | Event::RestoreFailed { .. }
            | Event::ServerFloods
            | Event::SessionRenewalFailed { .. } => warn!(endpoint, ?event, "trouble"),
            Event::BreakerClosed
            | Event::CallsHeld { .. }
            | Event::CallsReleased
            | Event::Connected { .. }
            | Event::CredentialsRenewed
            | Event::EraFound { .. }
            | Event::GateClosed { .. }
            | Event::ListenerBack { .. }
            | Event::ServerChanged
            | Event::SessionLost { .. }
            | Event::SessionReady { .. }
            | Event::Suspended { .. }
            | Event::ToolsChanged => info!(endpoint, ?event, "link"),
            _ => debug!(endpoint, ?event, "link"),
        }
    }
}

impl Drop for Observers {
    fn drop(&mut self) {
        self.dismiss();
    }
}

impl Lookout {
    pub(crate) fn watch(&self) -> Events {
        let mut watch = self.0.lock();
        let receiver = match &*watch {
            Audience::Unwatched => {
                let (sender, receiver) = broadcast::channel(KEPT);
                *watch = Audience::Watched(sender);
                receiver
            }
            Audience::Watched(sender) => sender.subscribe(),
            // A channel without a sender: its events have ended.
            Audience::Over => broadcast::channel(1).1,
        };
        Events::of(receiver)
    }
}

impl Stage {
    fn lock(&self) -> MutexGuard<'_, Audience> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A [`Stream`] of the events of a link, from the moment it was created.
///
/// ```no_run
/// # async fn example(client: ridethrough::Client) {
/// use ridethrough::event::Seen;
///
/// let mut events = client.events();
/// while let Some(seen) = events.next().await {
///     match seen {
///         Seen::Event { at, event } => println!("{at}: {event:?}"),
///         Seen::Missed(count) => println!("{count} events were missed"),
///     }
/// }
/// # }
/// ```
pub struct Events {
    /// The wait for the next event, which holds the receiver.
    waiting: ReusableBoxFuture<'static, Received>,
}

type Received = (Result<Seen, RecvError>, broadcast::Receiver<Seen>);

/// What an observer sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// An event.
    Event {
        /// When it happened, counted from the making of the client, like all moments inside the event.
        at: Moment,
        /// The event.
        event: Event,
    },
    /// The number of events that were lost because this observer was too slow.
    Missed(u64),
}

impl Events {
    fn of(receiver: broadcast::Receiver<Seen>) -> Self {
        Self { waiting: ReusableBoxFuture::new(receive(receiver)) }
    }

    /// Returns the next event; `None` when the client is closed or gone.
    pub async fn next(&mut self) -> Option<Seen> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    /// Returns the next event if there is one already.
    pub fn try_next(&mut self) -> Option<Seen> {
        // The result must not depend on how long the caller's task has run.
        unconstrained(self.next()).now_or_never().flatten()
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Seen>> {
        let (received, receiver) = std::task::ready!(self.waiting.poll(context));
        self.waiting.set(receive(receiver));
        Poll::Ready(match received {
            Ok(seen) => Some(seen),
            Err(RecvError::Lagged(missed)) => Some(Seen::Missed(missed)),
            Err(RecvError::Closed) => None,
        })
    }
}

impl Stream for Events {
    type Item = Seen;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Seen>> {
        self.poll(context)
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

async fn receive(mut receiver: broadcast::Receiver<Seen>) -> Received {
    (receiver.recv().await, receiver)
}

/// How many events are kept for an observer that is busy.
const KEPT: usize = 1024;
