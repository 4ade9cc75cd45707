//! The host's requests that have no answer yet, each under the id that the host gave it.
//!
//! A request that the host cancels is dropped, which cancels it at the link, and gets no answer. Every other
//! request ends exactly once.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture, FutureExt};
use futures_util::stream::FuturesUnordered;
use ridethrough::call::Track;
use ridethrough_core::ExchangeId;
use ridethrough_upstream::{Ended, InFlight, millis, short};
use ridethrough_wire::message::{ByKey, Id, Json, Key, LogLevel, splice};
use ridethrough_wire::stateless::{Offers, Sender, can_ask};
use tokio::time::Instant;

#[derive(Default)]
pub(crate) struct Calls {
    running: FuturesUnordered<Abortable<BoxFuture<'static, (u64, Ended)>>>,
    /// The open requests by number, the oldest first.
    known: BTreeMap<u64, Running>,
    /// How a host of the stateless revision asked, by the number of its request.
    askers: BTreeMap<u64, Asker>,
    /// The number of a request by its id. If an id is used again while its first call runs, it
    /// means the later call.
    numbers: ByKey<u64>,
    /// The bytes of all params that are kept.
    bytes: usize,
    last: u64,
}

/// A request as it came from the host.
pub(crate) struct Asked {
    pub(crate) id: Id,
    pub(crate) method: Box<str>,
    pub(crate) params: Option<Json>,
    /// How the host asked, if it is of the stateless revision.
    pub(crate) asker: Option<Asker>,
}

/// How a host of the stateless revision asked.
#[derive(Debug)]
pub(crate) struct Asker {
    /// Whether the answer may be `input_required`.
    pub(crate) can_be_asked: bool,
    /// Whether the person has visited the pages that an earlier answer named.
    pub(crate) has_visited: bool,
    /// The kinds of questions that the host can answer.
    pub(crate) offers: Offers,
    /// The level from which on the host wants the log of this call.
    pub(crate) level: Option<LogLevel>,
    /// The host's progress token.
    pub(crate) token: Option<Json>,
    /// The client's handle on the call.
    pub(crate) track: Track,
}

struct Running {
    /// The id to answer under; `None` while the host has `input_required` for an answer and has not come
    /// back: see `rounds`.
    id: Option<Id>,
    handle: AbortHandle,
    method: Box<str>,
    params: Option<Json>,
    began: Instant,
}

/// The outcome of a request, which it has exactly once.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) number: u64,
    /// The id to answer under; `None` while the host does not wait for an answer.
    pub(crate) id: Option<Id>,
    pub(crate) method: Box<str>,
    /// The params, if the request was refused for want of a login, because it may be made again, and if it may
    /// have run, because they decide how that is told.
    pub(crate) params: Option<Json>,
    /// How a host of the stateless revision asked.
    pub(crate) asker: Option<Asker>,
    pub(crate) began: Instant,
    pub(crate) ended: Ended,
}

impl Asker {
    pub(crate) fn new(method: &str, sender: &Sender, has_visited: bool, track: Track) -> Self {
        let (can_be_asked, token) = (can_ask(method), sender.token.clone());
        let (offers, level) = (Offers::of(&sender.capabilities), level(sender));
        Self { can_be_asked, has_visited, offers, level, token, track }
    }
}

impl Calls {
    /// Whether there is room for one more request with these params.
    pub(crate) fn has_room_for(&self, params: Option<&Json>) -> bool {
        self.known.len() < MOST_CALLS && self.bytes + size(params) <= MOST_BYTES
    }

    pub(crate) fn begin(
        &mut self,
        asked: Asked,
        call: impl Future<Output = Ended> + Send + 'static,
    ) {
        self.last += 1;
        let number = self.last;
        let Asked { id, method, params, asker } = asked;
        let (handle, registration) = AbortHandle::new_pair();
        self.numbers.insert(Key::of(id.json()), number);
        let (id, began) = (Some(id), Instant::now());
        self.bytes += size(params.as_ref());
        self.known.insert(number, Running { id, handle, method, params, began });
        if let Some(asker) = asker {
            self.askers.insert(number, asker);
        }
        let call = call.map(move |ended| (number, ended)).boxed();
        self.running.push(Abortable::new(call, registration));
    }

    /// Drops a request, if it has not ended, and returns its number.
    pub(crate) fn cancel(&mut self, id: &Json) -> Option<u64> {
        let number = self.numbers.remove(&Key::of(id))?;
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

    /// Detaches a request from its id, because the host is answered with questions; the request goes on.
    ///
    /// Returns the id to answer, and the method.
    pub(crate) fn suspend(&mut self, number: u64) -> Option<(Id, Box<str>)> {
        let running = self.known.get_mut(&number)?;
        let (id, method) = (running.id.take()?, running.method.clone());
        self.forget_id(&id, number);
        Some((id, method))
    }

    /// Attaches the request to another id: the host waits for it again, and may offer other things.
    pub(crate) fn go_on(&mut self, number: u64, id: Id, sender: &Sender) {
        let Some(running) = self.known.get_mut(&number) else { return };
        self.numbers.insert(Key::of(id.json()), number);
        running.id = Some(id);
        if let Some(asker) = self.askers.get_mut(&number) {
            asker.offers = Offers::of(&sender.capabilities);
            (asker.level, asker.token) = (level(sender), sender.token.clone());
        }
    }

    /// Returns the request of a host of the stateless revision that belongs to this exchange of the client.
    pub(crate) fn of_exchange(&self, exchange: ExchangeId) -> Option<(u64, &Asker)> {
        let is_it = |asker: &Asker| asker.track.exchange() == Some(exchange);
        self.askers.iter().find(|(_, it)| is_it(it)).map(|(number, it)| (*number, it))
    }

    /// Returns the method and the params of a request.
    pub(crate) fn request(&self, number: u64) -> Option<(&str, &Json)> {
        let running = self.known.get(&number)?;
        Some((&running.method, running.params.as_ref()?))
    }

    /// Whether a host of the stateless revision wants this record of the log: it belongs to the call of its exchange,
    /// or else to the only call that it can belong to.
    pub(crate) fn wants_log(&self, exchange: Option<ExchangeId>, params: Option<&Json>) -> bool {
        let mut waiting = self.askers.iter().filter(|(number, _)| self.is_awaited(**number));
        let asker = match exchange {
            Some(exchange) => self.of_exchange(exchange).map(|(_, asker)| asker),
            None => waiting.next().filter(|_| waiting.next().is_none()).map(|(_, asker)| asker),
        };
        let level = params.and_then(LogLevel::of_params);
        let wanted = asker.and_then(|asker| asker.level);
        wanted.is_some_and(|wanted| level.is_none_or(|level| level >= wanted))
    }

    /// Returns progress with the token of the request that the host waits for now; `None` if it waits for none.
    pub(crate) fn progress(&self, exchange: Option<ExchangeId>, params: Json) -> Option<Json> {
        let Some((call, asker)) = exchange.and_then(|it| self.of_exchange(it)) else {
            return Some(params);
        };
        let token = asker.token.as_ref().filter(|_| self.is_awaited(call))?;
        Some(splice::with_member(&params, "progressToken", token))
    }

    /// Returns the only request whose answer may be `input_required`; `None` if there are several.
    pub(crate) fn only_one_to_ask(&self) -> Option<(u64, &Asker)> {
        let mut askers = self.askers.iter().filter(|(_, it)| it.can_be_asked);
        let (number, asker) = askers.next().filter(|_| askers.next().is_none())?;
        Some((*number, asker))
    }

    /// Whether the host waits for this request now.
    fn is_awaited(&self, number: u64) -> bool {
        self.known.get(&number).is_some_and(|it| it.id.is_some())
    }

    /// Whether the host waits for no request.
    pub(crate) fn are_none_awaited(&self) -> bool {
        self.known.values().all(|it| it.id.is_none())
    }

    fn forget_id(&mut self, id: &Id, number: u64) {
        let key = Key::of(id.json());
        if self.numbers.get(&key) == Some(&number) {
            self.numbers.remove(&key);
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the requests that have waited for longest, for people.
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

    /// Waits for the next request that ends; `None` if none is under way.
    pub(crate) async fn next(&mut self) -> Option<Finished> {
        loop {
            // The end of a request that was dropped is ignored.
            if let Ok((number, ended)) = self.running.next().await?
                && let Some(running) = self.forget(number)
            {
                let Running { id, method, params, began, .. } = running;
                if let Some(id) = &id {
                    self.forget_id(id, number);
                }
                let asker = self.askers.remove(&number);
                let params = params.filter(|_| ended.is_unauthorized() || ended.may_have_run());
                return Some(Finished { number, id, method, params, asker, began, ended });
            }
        }
    }
}

impl Running {
    /// Returns the name of the tool that is called; `None` if the params are too large to be read here.
    fn tool(&self, left: &mut usize) -> Option<String> {
        let params = self.params.as_ref().filter(|_| &*self.method == "tools/call")?;
        *left = left.checked_sub(params.as_bytes().len())?;
        params.member("name")?.read()
    }
}

/// Returns the level from which on the sender of a request wants the log of its call.
fn level(sender: &Sender) -> Option<LogLevel> {
    sender.level.as_ref().and_then(LogLevel::read)
}

fn size(params: Option<&Json>) -> usize {
    params.map_or(0, |it| it.as_bytes().len())
}

/// The most open requests: more than any host waits for. A host that writes without end would otherwise fill
/// the memory.
const MOST_CALLS: usize = 10_000;
const MOST_BYTES: usize = 256 << 20;
const MOST_SHOWN: usize = 50;
/// The most bytes that are read for the names of tools: so many take a few milliseconds, and do not delay
/// calls.
const MOST_READ: usize = 4 << 20;
