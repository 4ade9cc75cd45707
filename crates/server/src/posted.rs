//! The messages of a client's POST.
//!
//! Work in proportion to the size of a body is done here, outside of every lock.

use bytes::Bytes;
use ridethrough_wire::message::{Id, Json, Message};

use crate::aside::aside;
use crate::bodies::BodyRoom;
use crate::calls::{NewCalls, NotTaken};
use crate::parts::{ParsedMessage, Parts, Unreadable};

/// The messages that a client posted.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) parts: Vec<ParsedMessage>,
    pub(crate) is_batch: bool,
    /// The calls among them.
    pub(crate) asked: NewCalls,
    /// What the client calls itself, where each request says that.
    pub(crate) client: Option<String>,
    /// The room that the body takes, until it is passed on.
    room: BodyRoom,
}

/// Why a body is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is JSON, and no message; the id is what it names itself.
    NoMessage(Option<Id>),
    NotTaken(NotTaken),
    Unreadable(Unreadable),
}

impl Posted {
    /// Reads a body.
    pub(crate) async fn read(body: Bytes, room: BodyRoom) -> Result<Self, Refused> {
        let read = aside(body.len(), move || Self::read_now(&body, room)).await;
        read.unwrap_or(Err(Refused::Unreadable(Unreadable::NotJson)))
    }

    fn read_now(body: &Bytes, room: BodyRoom) -> Result<Self, Refused> {
        let parts = Parts::read(body).map_err(|why| match why {
            Unreadable::NotJsonRpc => {
                let json = Json::new(body.clone()).ok();
                Refused::NoMessage(json.as_ref().and_then(Id::named_by))
            }
            why => Refused::Unreadable(why),
        })?;
        let is_batch = matches!(parts, Parts::Batch(_));
        let parts = parts.into_vec();
        let asked = NewCalls::read(&parts).map_err(Refused::NotTaken)?;
        Ok(Self { parts, is_batch, asked, client: None, room })
    }

    /// Creates a message of the server's own.
    pub(crate) fn of(message: ParsedMessage) -> Self {
        let parts = vec![message];
        let asked = NewCalls::read(&parts).unwrap_or_default();
        Self { parts, is_batch: false, asked, client: None, room: BodyRoom::default() }
    }

    /// Creates a message that replaces the posted one and takes over its room.
    pub(crate) fn replaced_by(&mut self, message: ParsedMessage) -> Self {
        Self { room: std::mem::take(&mut self.room), ..Self::of(message) }
    }

    /// Whether it takes room that other bodies may need.
    pub(crate) const fn is_large(&self) -> bool {
        self.room.is_shared()
    }

    /// The id of the request that it is, if it is one alone.
    pub(crate) fn id(&self) -> Option<&Id> {
        match &*self.parts {
            [ParsedMessage { message: Message::Request { id, .. }, .. }] if !self.is_batch => {
                Some(id)
            }
            _ => None,
        }
    }

    /// Whether it contains a request.
    pub(crate) const fn has_calls(&self) -> bool {
        self.asked.len() > 0
    }
}
