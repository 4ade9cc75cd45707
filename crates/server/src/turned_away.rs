//! Refuses requests before they are checked, because there is no room for them.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request};
use hyper::body::{Body, Incoming};
use ridethrough_wire::message::Id;
use tokio::time::timeout;

use crate::backend::Unavailable;
use crate::bodies::Bodies;
use crate::body_size::BodySize;
use crate::connections::Connection;
use crate::headers::Headers;
use crate::posted::Posted;
use crate::reply::{self, Reply};

/// Refuses a request. Of a small message its id is read, because the refusal is only believed if it names it.
pub(crate) async fn turn_away(
    request: Request<Incoming>,
    connection: &Arc<Connection>,
    bodies: &Bodies,
    why: &Unavailable,
) -> Reply {
    let (head, body) = request.into_parts();
    let size = body.size_hint().exact().and_then(|size| usize::try_from(size).ok());
    let is_small = size.is_some_and(|size| BodySize::of(size) == BodySize::Small);
    let is_read = is_small && head.method == Method::POST && Headers(&head.headers).has_json();
    // It may be the head for which there is no room.
    drop(head);
    let id = if is_read {
        timeout(LONGEST, id_of(body, connection, bodies)).await.ok().flatten()
    } else {
        None
    };
    reply::unavailable(id.as_ref(), why)
}

async fn id_of(body: Incoming, connection: &Arc<Connection>, bodies: &Bodies) -> Option<Id> {
    let (body, room) = bodies.read(body, connection).await.ok()?;
    Posted::read(body, room).await.ok()?.id().cloned()
}

/// How long such a body may take.
const LONGEST: Duration = Duration::from_secs(10);
