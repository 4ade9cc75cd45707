//! Reading a whole list of a server, past the client's cache and within bounds.

use futures_util::future::{BoxFuture, Shared};
use ridethrough::{Client, Error};
use ridethrough_wire::message::code::METHOD_NOT_FOUND;
use ridethrough_wire::message::{Json, ListKind, splice};
use tokio::time::Instant;

/// A list that is being read. All who want it wait for one request.
#[derive(Clone)]
pub(crate) struct Refresh {
    pub(crate) began: Instant,
    /// Whether it could be read.
    pub(crate) done: Shared<BoxFuture<'static, bool>>,
}

/// Reads a whole list; or says in one line why there is none.
pub(crate) async fn fetch(client: &Client, kind: ListKind) -> Result<Vec<Json>, String> {
    let (mut elements, mut bytes, mut next): (_, _, Option<Json>) = (Vec::new(), 0, None);
    for _ in 0..MOST_PAGES {
        let params =
            next.map(|cursor| Json::empty_object().with_members([("cursor".to_owned(), cursor)]));
        let result = match client.request(kind.method(), params).fresh().await {
            Ok(result) => result,
            // A server that does not have such a list has an empty one.
            Err(Error::Server(error)) if error.rpc.code == METHOD_NOT_FOUND => return Ok(elements),
            Err(Error::Server(error)) => {
                return Err(format!("it refuses {} with code {}", kind.method(), error.rpc.code));
            }
            Err(error) => return Err(error.to_string().replace('\n', " ")),
        };
        bytes += result.as_bytes().len();
        // A part would keep the whole page in memory.
        elements.extend(kind.elements(&result).iter().map(splice::copied));
        if bytes > MOST_BYTES || elements.len() > MOST_ELEMENTS {
            break;
        }
        next = result.member("nextCursor").filter(|cursor| cursor.as_str() != "null");
        if next.is_none() {
            return Ok(elements);
        }
    }
    Err(format!("its answer to {} is larger than 8 MiB or 10,000 entries", kind.method()))
}

/// A list may be endless.
const MOST_PAGES: usize = 100;
/// No model chooses among more.
const MOST_ELEMENTS: usize = 10_000;
const MOST_BYTES: usize = 8 << 20;
