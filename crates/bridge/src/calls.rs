//! The host's requests that have no answer yet, each under the id that the host gave it.
//!
//! A request that the host takes back is dropped, which is how the link learns of it, and has no
//! answer. Every other one ends exactly once.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture, FutureExt};
use futures_util::stream::FuturesUnordered;
use ridethrough::call::Track;
use ridethrough_core::message::{Id, Json};
use ridethrough_core::{ExchangeId, Outcome};
use tokio::time::Instant;

use crate::gauge::{InFlight, millis, short};
use crate::lists::Page;
use crate::modern::Offers;

#[derive(Default)]
pub(crate) struct Calls {
    running: FuturesUnordered<Abortable<BoxFuture<'static, (u64, End)>>>,
    /// By number, the oldest first.
    known: BTreeMap<u64, Running>,
    /// How those of a host of the stateless revision were asked, by number.
    askers: BTreeMap<u64, Asker>,
    /// By the text of the id: an id that is used again while its first call runs means the later one.
    numbers: BTreeMap<Bytes, u64>,
    /// The bytes of all params that are kept.
    bytes: usize,
    last: u64,
}

/// A request as it came from the host.
pub(crate) struct Asked {
    pub(crate) id: Id,
    pub(crate) method: Box<str>,
    pub(crate) params: Option<Json>,
    /// What is known of a host of the stateless revision.
    pub(crate) asker: Option<Asker>,
}

/// How a host of the stateless revision asked.
#[derive(Debug)]
pub(crate) struct Asker {
    /// Whether the answer may be that input is needed.
    pub(crate) can_be_asked: bool,
    /// What the host can be asked.
    pub(crate) offers: Offers,
    /// What its progress is told by.
    pub(crate) token: Option<Json>,
    /// What the client knows the call by.
    pub(crate) track: Track,
}

struct Running {
    /// Gone as long as the host has something else for an answer: see `rounds`.
    id: Option<Id>,
    handle: AbortHandle,
    method: Box<str>,
    params: Option<Json>,
    page: Option<Page>,
    began: Instant,
}

/// The one end of a request.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) number: u64,
    /// Absent while the host does not wait for it.
    pub(crate) id: Option<Id>,
    pub(crate) method: Box<str>,
    /// The part of a list that was asked for, if it was one.
    pub(crate) page: Option<Page>,
    /// What a host of the stateless revision can be asked.
    pub(crate) offers: Option<Offers>,
    pub(crate) end: End,
}

/// What a request came to.
#[derive(Debug)]
pub(crate) enum End {
    /// The upstream was not there: this is what stands in for its answer.
    StandIn(Json),
    /// What the client says.
    Upstream(Outcome),
}

impl Calls {
    /// Whether a request with these params can be kept besides those that are.
    pub(crate) fn has_room_for(&self, params: Option<&Json>) -> bool {
        self.known.len() < MOST_CALLS && self.bytes + size(params) <= MOST_BYTES
    }

    pub(crate) fn begin(
        &mut self,
        asked: Asked,
        page: Option<Page>,
        call: impl Future<Output = End> + Send + 'static,
    ) {
        self.last += 1;
        let number = self.last;
        let Asked { id, method, params, asker } = asked;
        let (handle, registration) = AbortHandle::new_pair();
        self.numbers.insert(id.json().as_bytes().clone(), number);
        let (id, began) = (Some(id), Instant::now());
        self.bytes += size(params.as_ref());
        self.known.insert(number, Running { id, handle, method, params, page, began });
        if let Some(asker) = asker {
            self.askers.insert(number, asker);
        }
        let call = call.map(move |end| (number, end)).boxed();
        self.running.push(Abortable::new(call, registration));
    }

    /// Drops a request, if it has not ended. Returns its number.
    pub(crate) fn cancel(&mut self, id: &Bytes) -> Option<u64> {
        let number = self.numbers.remove(id)?;
        self.drop_call(number);
        Some(number)
    }

    /// Drops a request that the host does not wait for.
    pub(crate) fn drop_call(&mut self, number: u64) {
        self.askers.remove(&number);
        if let Some(running) = self.forget(number) {
            running.handle.abort();
        }
    }

    fn forget(&mut self, number: u64) -> Option<Running> {
        let running = self.known.remove(&number)?;
        self.bytes -= size(running.params.as_ref());
        Some(running)
    }

    /// The host has something else for an answer to this request; it goes on. Returns the id to answer, and
    /// the method.
    pub(crate) fn suspend(&mut self, number: u64) -> Option<(Id, Box<str>)> {
        let running = self.known.get_mut(&number)?;
        let (id, method) = (running.id.take()?, running.method.clone());
        self.forget_id(&id, number);
        Some((id, method))
    }

    /// The host waits for it again, under another id, and may be asked other things.
    pub(crate) fn go_on(&mut self, number: u64, id: Id, offers: Offers, token: Option<Json>) {
        let Some(running) = self.known.get_mut(&number) else { return };
        self.numbers.insert(id.json().as_bytes().clone(), number);
        running.id = Some(id);
        if let Some(asker) = self.askers.get_mut(&number) {
            (asker.offers, asker.token) = (offers, token);
        }
    }

    /// The request of a host of the stateless revision that the client knows by this exchange.
    pub(crate) fn of_exchange(&self, exchange: ExchangeId) -> Option<(u64, &Asker)> {
        let is_it = |asker: &Asker| asker.track.exchange() == Some(exchange);
        self.askers.iter().find(|(_, it)| is_it(it)).map(|(number, it)| (*number, it))
    }

    /// What a request says: its method and its params.
    pub(crate) fn request(&self, number: u64) -> Option<(&str, &Json)> {
        let running = self.known.get(&number)?;
        Some((&running.method, running.params.as_ref()?))
    }

    /// The only request that can be asked something, if there is one and no other.
    pub(crate) fn only_one_to_ask(&self) -> Option<(u64, &Asker)> {
        let mut askers = self.askers.iter().filter(|(_, it)| it.can_be_asked);
        let (number, asker) = askers.next().filter(|_| askers.next().is_none())?;
        Some((*number, asker))
    }

    /// Whether the host waits for this one now.
    pub(crate) fn is_awaited(&self, number: u64) -> bool {
        self.known.get(&number).is_some_and(|it| it.id.is_some())
    }

    /// Whether the host waits for none.
    pub(crate) fn are_none_awaited(&self) -> bool {
        self.known.values().all(|it| it.id.is_none())
    }

    fn forget_id(&mut self, id: &Id, number: u64) {
        let key = id.json().as_bytes();
        if self.numbers.get(key) == Some(&number) {
            self.numbers.remove(key);
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Those that have waited for longest, for people.
    pub(crate) fn oldest(&self, now: Instant) -> Vec<InFlight> {
        let mut left = MOST_READ;
        let awaited = self.known.values().filter(|it| it.id.is_some());
        let shown = awaited.take(MOST_SHOWN).map(|it| InFlight {
            method: short(&it.method),
            tool: it.tool(&mut left).as_deref().map(short),
            elapsed_ms: millis(now - it.began),
        });
        shown.collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// The next request that ends; `None` if there is none under way.
    pub(crate) async fn next(&mut self) -> Option<Finished> {
        loop {
            // What was dropped is known no more.
            if let Ok((number, end)) = self.running.next().await?
                && let Some(running) = self.forget(number)
            {
                let Running { id, method, page, .. } = running;
                if let Some(id) = &id {
                    self.forget_id(id, number);
                }
                let offers = self.askers.remove(&number).map(|asker| asker.offers);
                return Some(Finished { number, id, method, page, offers, end });
            }
        }
    }
}

impl Running {
    /// The tool that is called. What is too large to be read in passing has none.
    fn tool(&self, left: &mut usize) -> Option<String> {
        let params = self.params.as_ref().filter(|_| &*self.method == "tools/call")?;
        *left = left.checked_sub(params.as_bytes().len())?;
        params.member("name")?.read()
    }
}

fn size(params: Option<&Json>) -> usize {
    params.map_or(0, |it| it.as_bytes().len())
}

/// No host waits for so much at once; one that writes without end would fill our memory.
const MOST_CALLS: usize = 10_000;
const MOST_BYTES: usize = 256 << 20;
const MOST_SHOWN: usize = 50;
/// Nobody who looks may hold up the calls: so much takes a few milliseconds.
const MOST_READ: usize = 4 << 20;
