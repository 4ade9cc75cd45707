//! Ids of tasks and states of rounds, in the form that callers carry.
//!
//! Each says by itself where it leads, and is of use only to the principal that it was given to. Nothing is kept
//! here, so another gateway with this key serves them as well.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ridethrough_server::{Caller, Digest, Principal, SealKey};
use ridethrough_wire::message::Json;
use tokio::time::Instant;

use crate::once::StateNumber;

/// Seals what callers carry.
pub(crate) struct RouteSealer {
    key: Arc<SealKey>,
    /// When this was made, by two clocks: only the first is shared with other processes, and only the second
    /// never jumps.
    began: (SystemTime, Instant),
}

/// Where the id of a task leads.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TaskRoute {
    pub(crate) server: Arc<str>,
    /// The id that the server gave it.
    pub(crate) id: String,
}

/// The call that a round belongs to.
pub(crate) struct RoundSubject<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) server: &'a str,
    /// The digest of method and params.
    pub(crate) call: Digest,
    /// The epoch of the record of used states.
    pub(crate) epoch: [u8; 32],
}

/// The contents of a `requestState`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenedState {
    pub(crate) number: StateNumber,
    /// The server's own state, if it had one.
    pub(crate) of_server: Option<Json>,
}

/// Why the state of a round is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadState {
    /// Its time is over.
    Late,
    /// It was not sealed with this key for this call of this principal, or was changed.
    Unknown,
    /// It was used before.
    Used,
}

impl RouteSealer {
    pub(crate) fn new(key: Arc<SealKey>) -> Self {
        Self { key, began: (SystemTime::now(), Instant::now()) }
    }

    /// Returns the id of a server's task for a caller. A task has one id, however often it is shown.
    pub(crate) fn task_id(&self, caller: &Caller, server: &str, id: &str) -> String {
        let length = u32::try_from(server.len()).expect("a name is shorter than 4 GiB");
        let text = [&length.to_be_bytes()[..], server.as_bytes(), id.as_bytes()].concat();
        BASE64_URL_SAFE_NO_PAD.encode(self.key.seal(TASK, &facts_of(caller).each(), &text))
    }

    /// Returns where the id of a task leads; `None` if it was not given to this caller's principal, or in the
    /// other era.
    pub(crate) fn task(&self, caller: &Caller, id: &str) -> Option<TaskRoute> {
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(id).ok()?;
        let text = self.key.open(TASK, &facts_of(caller).each(), &sealed)?;
        let (length, rest) = text.split_first_chunk()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (server, id) = rest.split_at_checked(length)?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        Some(TaskRoute { server: text(server)?.into(), id: text(id)? })
    }

    /// Returns a `requestState` in which the server's own, if there is one, is hidden.
    pub(crate) fn round_state(&self, of: &RoundSubject<'_>, state: Option<&Json>) -> String {
        let expires = self.millis() + millis(PATIENCE);
        let random = SealKey::random().expect("the operating system has randomness");
        let state = state.map(|it| it.as_bytes().as_ref()).unwrap_or_default();
        let text = [&expires.to_be_bytes()[..], &random[..size_of::<StateNumber>()], state];
        let principal = principal_fact(&of.caller.principal);
        let facts = [&*principal, of.server.as_bytes(), &of.call, &of.epoch];
        BASE64_URL_SAFE_NO_PAD.encode(self.key.seal(ROUND, &facts, &text.concat()))
    }

    /// Opens a `requestState`.
    pub(crate) fn round(
        &self,
        of: &RoundSubject<'_>,
        state: &str,
    ) -> Result<OpenedState, BadState> {
        let principal = principal_fact(&of.caller.principal);
        let facts = [&*principal, of.server.as_bytes(), &of.call, &of.epoch];
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(state).map_err(|_| BadState::Unknown)?;
        let text = self.key.open(ROUND, &facts, &sealed).ok_or(BadState::Unknown)?;
        let (expires, rest) = text.split_first_chunk().ok_or(BadState::Unknown)?;
        let (number, state) = rest.split_first_chunk().ok_or(BadState::Unknown)?;
        if self.millis() >= u64::from_be_bytes(*expires) {
            return Err(BadState::Late);
        }
        let state = Some(state).filter(|it| !it.is_empty());
        let of_server = state.map(|it| Json::new(it.to_vec()).map_err(|_| BadState::Unknown));
        Ok(OpenedState { number: *number, of_server: of_server.transpose()? })
    }

    /// The time since 1970, which other processes know, too.
    fn millis(&self) -> u64 {
        let (wall, began) = self.began;
        let since = wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        millis(since + began.elapsed())
    }
}

/// What the id of a task is bound to.
struct CallerFacts {
    principal: Vec<u8>,
    /// The eras have tasks of different forms.
    era: [u8; 1],
}

impl CallerFacts {
    fn each(&self) -> [&[u8]; 2] {
        [&self.principal, &self.era]
    }
}

fn facts_of(caller: &Caller) -> CallerFacts {
    let principal = principal_fact(&caller.principal);
    CallerFacts { principal, era: [u8::from(caller.is_stateless)] }
}

/// A name does not make a principal the owner.
pub(crate) fn principal_fact(principal: &Principal) -> Vec<u8> {
    let special = [u8::from(principal.is_special())];
    [&special[..], principal.name().as_bytes()].concat()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

const TASK: &str = "ridethrough task 1";
const ROUND: &str = "ridethrough round 1";
/// How long a caller may take for a round: as long as for a call that is held.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_id_leads_back_to_its_server_whatever_both_are_called(server in ".*", id in ".*") {
            let sealer = sealer();

            let sealed = sealer.task_id(&caller("ada"), &server, &id);

            let route = sealer.task(&caller("ada"), &sealed).unwrap();
            prop_assert_eq!((&*route.server, route.id), (&*server, id));
        }

        #[test]
        fn any_text_is_an_id_or_is_not(text in ".*") {
            prop_assert!(sealer().task(&caller("ada"), &text).is_none());
        }
    }

    #[test]
    fn an_id_is_of_one_principal_and_one_era() {
        let sealer = sealer();
        let owner = Caller::new(Principal::owner(), "");

        let id = sealer.task_id(&caller("ada"), "a", "1");

        assert_eq!(sealer.task_id(&caller("ada"), "a", "1"), id);
        assert!(sealer.task(&caller("bob"), &id).is_none());
        assert!(sealer.task(&caller("ada").stateless(), &id).is_none());
        let of_owner = sealer.task_id(&owner, "a", "1");
        assert!(sealer.task(&caller("owner"), &of_owner).is_none(), "a name makes no owner");
        assert_ne!(sealer.task_id(&caller("ada"), "b", "1"), id);
    }

    #[tokio::test(start_paused = true)]
    async fn a_state_is_of_one_call_of_one_principal_at_one_server_for_a_while() {
        let sealer = sealer();
        let (ada, bob) = (caller("ada"), caller("bob"));
        let at = |caller, server, call, epoch| RoundSubject {
            caller,
            server,
            call: [call; 32],
            epoch: [epoch; 32],
        };
        let of = |caller, server, call| at(caller, server, call, 1);
        let inner = Json::new("\"s\\u00e9\"").unwrap();

        let state = sealer.round_state(&of(&ada, "a", 1), Some(&inner));

        let opened = sealer.round(&of(&ada, "a", 1), &state).unwrap();
        assert_eq!(opened.of_server, Some(inner.clone()));
        for other in [of(&bob, "a", 1), of(&ada, "b", 1), of(&ada, "a", 2), at(&ada, "a", 1, 2)] {
            assert_eq!(sealer.round(&other, &state), Err(BadState::Unknown));
        }
        let again = sealer.round_state(&of(&ada, "a", 1), Some(&inner));
        let again = sealer.round(&of(&ada, "a", 1), &again).unwrap();
        assert_ne!(again.number, opened.number, "two rounds of one call differ");
        let none = sealer.round_state(&of(&ada, "a", 1), None);
        assert_eq!(sealer.round(&of(&ada, "a", 1), &none).unwrap().of_server, None);
        tokio::time::advance(PATIENCE).await;
        assert_eq!(sealer.round(&of(&ada, "a", 1), &state), Err(BadState::Late));
    }

    fn sealer() -> RouteSealer {
        RouteSealer::new(Arc::new(SealKey::new(&[7; SealKey::LENGTH])))
    }

    fn caller(name: &str) -> Caller {
        Caller::new(Principal::new(name), "")
    }
}
