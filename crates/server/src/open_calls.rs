//! The calls of a backend that speaks in messages, as a process on a pipe does: it names a call by the id and the
//! progress token that it was told.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ridethrough_wire::message::{Json, Key, Message, notification};

use crate::calls::LONGEST_SPELLING;
use crate::host::{Aside, CallEnd, HostMessage, Letter, Lost, Sink, Voice};
use crate::parts::ParsedMessage;

/// The calls that are open, the oldest first. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct OpenCalls(Arc<Mutex<Vec<NamedCall>>>);

#[derive(Debug)]
struct NamedCall {
    id: Key,
    progress_token: Option<Key>,
    sink: Sink,
}

impl OpenCalls {
    /// Takes down which calls begin, and which are over because their host has cancelled them.
    pub fn take_down(&self, letter: Letter) {
        let mut calls = self.lock();
        for message in letter {
            match message {
                HostMessage::Call(request, sink) => calls.extend(NamedCall::of(&request, sink)),
                HostMessage::Cancel(_, call) => calls.retain(|it| it.sink.number() != call),
                HostMessage::Other(_) => {}
            }
        }
    }

    /// Passes on a message of the backend: an answer to where its call ends, progress beside its call, and everything
    /// else by the voice. An answer to nothing is dropped: that to a cancelled call, for example.
    pub async fn pass_on(&self, message: ParsedMessage, voice: &Voice) {
        if let Message::Response { id, .. } = &message.message {
            let call = id.as_ref().and_then(|id| self.take(id.json()));
            if let Some(call) = call {
                call.end(CallEnd::Message(message)).await;
            }
            return;
        }
        match self.of_progress(&message.message) {
            Some(call) => call.say(message).await,
            None => voice.say(message).await,
        }
    }

    /// Ends the call that the backend means by this id, because no answer will come.
    pub fn misread(&self, id: &Json) {
        if let Some(call) = self.take(id) {
            call.lose(Lost::Misread);
        }
    }

    /// Returns what says things beside the call of this id.
    pub fn aside(&self, id: &Json) -> Option<Aside> {
        let calls = self.lock();
        Some(key_of(id)?.meant(&calls, |call| Some(&call.id))?.sink.aside().clone())
    }

    fn take(&self, id: &Json) -> Option<Sink> {
        let mut calls = self.lock();
        let number = key_of(id)?.meant(&calls, |call| Some(&call.id))?.sink.number();
        let at = calls.iter().position(|call| call.sink.number() == number)?;
        Some(calls.remove(at).sink)
    }

    fn of_progress(&self, message: &Message) -> Option<Aside> {
        let Message::Notification { method, params: Some(params) } = message else { return None };
        let token =
            (&**method == notification::PROGRESS).then(|| params.member("progressToken"))?;
        let calls = self.lock();
        let call = key_of(&token?)?.meant(&calls, |call| call.progress_token.as_ref())?;
        Some(call.sink.aside().clone())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<NamedCall>> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NamedCall {
    /// Returns the call that a request makes.
    fn of(request: &ParsedMessage, sink: Sink) -> Option<Self> {
        let Message::Request { id, params, .. } = &request.message else { return None };
        let token = params.as_ref().and_then(|it| it.member("_meta")?.member("progressToken"));
        let progress_token = token.as_ref().map(Key::of);
        Some(Self { id: Key::of(id.json()), progress_token, sink })
    }
}

/// Returns the meaning of an id; `None` if it is too long to be that of a call, in any spelling.
fn key_of(id: &Json) -> Option<Key> {
    (id.as_bytes().len() <= LONGEST_SPELLING).then(|| Key::of(id))
}

#[cfg(test)]
mod tests {
    use futures_util::future::{BoxFuture, FutureExt};

    use super::*;
    use crate::host::{Ending, HostEnd};

    #[test]
    fn an_id_that_is_echoed_in_another_spelling_still_finds_its_call() {
        for (id, echoed, is_found) in [
            ("7", "7", true),
            ("7", "7.0", true),
            ("7", r#""7""#, true),
            (r#""a/b""#, r#""a\/b""#, true),
            ("7", "8", false),
            ("7", "null", false),
        ] {
            let calls = OpenCalls::default();
            calls.take_down(vec![request(id, "0", 1)]);

            assert_eq!(calls.take(&json(echoed)).is_some(), is_found, "{echoed}");
        }
    }

    #[test]
    fn an_answer_that_could_be_that_of_two_calls_is_nobodys() {
        let calls = OpenCalls::default();
        calls.take_down(vec![request("7", "1", 1), request(r#""7""#, "2", 2)]);

        assert!(calls.take(&json("7.0")).is_none());
        assert_eq!(calls.take(&json(r#""7""#)).map(|it| it.number()), Some(2));
        assert!(calls.take(&json(r#""8""#)).is_none());
    }

    #[test]
    fn progress_names_its_call_by_its_token_and_a_call_is_answered_once() {
        let calls = OpenCalls::default();
        calls.take_down(vec![request("1", r#""t""#, 1)]);
        let progress = |token: &str| {
            let params = format!(r#"{{"progressToken":{token}}}"#);
            let method = notification::PROGRESS.into();
            Message::Notification { method, params: Some(json(&params)) }
        };

        assert!(calls.of_progress(&progress(r#""t""#)).is_some());
        assert!(calls.of_progress(&progress(r#""u""#)).is_none());
        assert!(calls.take(&json("1")).is_some());
        assert!(calls.take(&json("1")).is_none());
        assert!(calls.of_progress(&progress(r#""t""#)).is_none());
    }

    struct Deaf;

    impl HostEnd for Deaf {
        fn say(self: Arc<Self>, _: Option<u64>, _: ParsedMessage) -> BoxFuture<'static, ()> {
            async {}.boxed()
        }

        fn end(self: Arc<Self>, _: u64, _: CallEnd) -> BoxFuture<'static, ()> {
            async {}.boxed()
        }

        fn lose(&self, _: u64, _: Lost) {}

        fn is_over(&self, _: Ending) {}

        fn skip(&self) {}
    }

    fn request(id: &str, token: &str, call: u64) -> HostMessage {
        let params = format!(r#"{{"_meta":{{"progressToken":{token}}}}}"#);
        let text = format!(r#"{{"id":{id},"method":"m","params":{params}}}"#);
        let request = ParsedMessage::read(&json(&text)).unwrap();
        HostMessage::Call(request, Sink::new(Arc::new(Deaf), call))
    }

    fn json(text: &str) -> Json {
        Json::new(text.to_owned()).unwrap()
    }
}
