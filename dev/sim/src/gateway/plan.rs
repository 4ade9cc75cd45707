//! What a call of a world will be.

use std::collections::BTreeMap;
use std::time::Duration;

use super::caller::{GatewayCaller, KnownTool};
use super::record::{Behaviour, Record};
use crate::world::host::Shared;
use crate::world::order::Order;

/// One call, as it will be made.
pub(super) struct GatewayCall {
    pub(super) caller: GatewayCaller,
    pub(super) order: Order,
    pub(super) tool: KnownTool,
    /// How often the config had been read when the name was learnt.
    pub(super) learnt: u64,
    pub(super) deadline: Duration,
    pub(super) gives_up: Option<Duration>,
    pub(super) wants_progress: bool,
    pub(super) person: Behaviour,
    pub(super) tricks: Tricks,
    /// A caller of another principal.
    pub(super) stranger: Option<GatewayCaller>,
    /// Whether the caller asks for the list of tools first.
    pub(super) learns: bool,
    pub(super) peace: Peace,
    pub(super) record: Record,
    pub(super) endings: Shared<BTreeMap<String, u64>>,
}

/// What happens in a world that could cost a call, from much to little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Peace {
    None,
    /// Questions, and reloads that touch no server.
    Reloads,
    /// Questions only.
    Questions,
}

/// What an application tries that goes through the rounds of a call by itself, and must not do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tricks {
    pub(super) answers_twice: bool,
    pub(super) alters_state: bool,
    pub(super) is_foreign: bool,
    pub(super) changes_params: bool,
}
