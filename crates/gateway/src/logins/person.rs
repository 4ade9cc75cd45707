//! The person in front of a browser, as a login sees them: they are shown a redirect, and come back by a request.

use std::sync::{Mutex, PoisonError};

use ridethrough::transport::BoxFuture;
use ridethrough_oauth::person::{LoginPrompt, Person};
use tokio::sync::{mpsc, oneshot};

/// A person who is reached by a browser.
pub(super) struct BrowserPerson {
    prompts: mpsc::UnboundedSender<LoginPrompt>,
    callbacks: tokio::sync::Mutex<mpsc::Receiver<BroughtBack>>,
    /// Who waits for the login's word about the last callback.
    last: Mutex<Option<oneshot::Sender<()>>>,
}

/// The other side of a person: what the gateway's pages hold.
pub(super) struct BrowserSide {
    pub(super) prompts: mpsc::UnboundedReceiver<LoginPrompt>,
    pub(super) callbacks: mpsc::Sender<BroughtBack>,
}

/// A callback, and where to say that it does not belong to the login.
pub(super) struct BroughtBack {
    pub(super) url: String,
    pub(super) ignored: oneshot::Sender<()>,
}

/// What became of a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallbackEnd {
    /// The browser must go to this URL once more: the authorization server had forgotten the client.
    Again(String),
    /// The person has logged in.
    Done,
    /// The login has failed, in words without secrets.
    Failed(String),
    /// It does not belong to the login, which goes on.
    NotOurs,
}

impl BrowserPerson {
    pub(super) fn new() -> (Self, BrowserSide) {
        let (prompts, shown) = mpsc::unbounded_channel();
        let (brought, callbacks) = mpsc::channel(1);
        let callbacks = tokio::sync::Mutex::new(callbacks);
        let side = BrowserSide { prompts: shown, callbacks: brought };
        (Self { prompts, callbacks, last: Mutex::default() }, side)
    }
}

impl Person for BrowserPerson {
    fn show<'a>(&'a self, prompt: &'a LoginPrompt) -> BoxFuture<'a, ()> {
        // If nobody takes it, the login was given up.
        let _ = self.prompts.send(prompt.clone());
        Box::pin(async {})
    }

    /// It is called again if the last callback was not taken, which tells whoever brought it.
    fn pasted(&self) -> BoxFuture<'_, String> {
        Box::pin(async {
            let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(ignored) = last {
                // Whoever brought it may have left.
                let _ = ignored.send(());
            }
            let brought = self.callbacks.lock().await.recv().await;
            let Some(BroughtBack { url, ignored }) = brought else {
                return std::future::pending().await;
            };
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(ignored);
            url
        })
    }
}
