//! Lists that come in pages.
//!
//! Pages are followed to the end, within three bounds: a number of pages, their size, and a cursor that comes
//! twice.

use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ridethrough_wire::message::Json;
use serde::Serialize;
use tokio::time::Instant;

use super::{Call, Client, Params};
use crate::driver::Accepts;
use crate::error::{Error, ServerError};
use crate::model::{self, Listed};
use crate::source::{Source, Sourced};

/// A list of the server, not requested yet. Await it for the whole list, or request it page by page.
///
/// ```no_run
/// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
/// for tool in client.tools().await? {
///     println!("{}", tool.name);
/// }
/// # Ok(()) }
/// ```
#[must_use = "a list is asked for when it is awaited"]
pub struct List<T> {
    client: Client,
    most_pages: usize,
    deadline: Option<Duration>,
    headers: Vec<(String, String)>,
    accepts: Accepts,
    items: PhantomData<fn() -> T>,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The items on the page.
    pub items: Vec<T>,
    /// The cursor of the next page, if there is one.
    pub next_cursor: Option<String>,
    /// The whole page, as it was sent.
    pub json: Json,
}

#[expect(private_bounds, reason = "what can be listed is what the client has a method for")]
impl<T: Listed> List<T> {
    pub(crate) const fn new(client: Client) -> Self {
        Self {
            client,
            most_pages: PAGES,
            deadline: None,
            headers: Vec::new(),
            accepts: Accepts::Kept,
            items: PhantomData,
        }
    }

    /// Adds a header to the request for each page: see [`Call::header`].
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets how many pages are followed at most; 1,000 by default. All pages of one list may have 64 MiB
    /// together.
    pub const fn most_pages(mut self, pages: usize) -> Self {
        self.most_pages = pages;
        self
    }

    /// Sets the time for all pages together. By default each page has the policy's time, 60 s.
    pub const fn timeout(mut self, time: Duration) -> Self {
        self.deadline = Some(time);
        self
    }

    /// Asks the server for each page even if a kept one could answer: see [`Cache`](crate::policy::Cache).
    pub const fn fresh(mut self) -> Self {
        self.accepts = Accepts::Fresh;
        self
    }

    /// Requests the whole list, and tells its source: that of its least fresh page.
    pub async fn sourced(self) -> Result<Sourced<Vec<T>>, Error> {
        self.whole().await
    }

    /// Requests one page: the first, or the one of this cursor.
    ///
    /// ```no_run
    /// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
    /// let mut cursor = None;
    /// loop {
    ///     let page = client.resources().page(cursor.as_deref()).await?;
    ///     println!("{} more", page.items.len());
    ///     cursor = page.next_cursor;
    ///     if cursor.is_none() {
    ///         break;
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub fn page(self, cursor: Option<&str>) -> Call<Page<T>> {
        self.ask(cursor, self.deadline)
    }

    fn ask(&self, cursor: Option<&str>, time: Option<Duration>) -> Call<Page<T>> {
        #[derive(Serialize)]
        struct Cursor<'a> {
            cursor: &'a str,
        }

        let params = cursor.map(|cursor| Json::of(&Cursor { cursor }).expect("a string is JSON"));
        let call = Call::new(self.client.clone(), T::METHOD.into(), Params::from(params), read);
        let call = self.headers.iter().fold(call, |call, (name, value)| call.header(name, value));
        let call = match self.accepts {
            Accepts::Fresh => call.fresh(),
            Accepts::Kept => call,
        };
        match time {
            Some(time) => call.timeout(time),
            None => call,
        }
    }

    async fn whole(self) -> Result<Sourced<Vec<T>>, Error> {
        // A time too long to be represented is no limit.
        let until = self.deadline.and_then(|time| Instant::now().checked_add(time));
        match self.follow(until).await {
            Err(stopped) if stopped.may_begin_again() => {
                // A kept page may have led to a wrong cursor.
                let again = self.fresh().follow(until).await;
                again.map_err(|stopped| stopped.error)
            }
            ended => ended.map_err(|stopped| stopped.error),
        }
    }

    async fn follow(&self, until: Option<Instant>) -> Result<Sourced<Vec<T>>, Stopped> {
        let (mut items, mut bytes, mut source) = (Vec::new(), 0, Source::Server);
        let mut cursors = BTreeSet::new();
        let mut cursor = None;
        for number in 0..self.most_pages {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let left = left.or(self.deadline);
            let asked = self.ask(cursor.as_deref(), left).sourced().await;
            let stopped = |error| Stopped { error, page: number, is_mixed: false };
            let Sourced { value: page, source: from } = asked.map_err(stopped)?;
            items.extend(page.items);
            source = source.worse(from);
            bytes += page.json.as_bytes().len();
            let Some(next) = page.next_cursor else { return Ok(Sourced { value: items, source }) };
            if !cursors.insert(next.clone()) {
                let is_mixed = !matches!(source, Source::Server);
                let stopped = endless::<T>(number + 1, "a cursor came twice");
                return Err(Stopped { is_mixed, ..stopped });
            }
            if bytes > BYTES {
                return Err(endless::<T>(number + 1, "it is larger than 64 MiB"));
            }
            cursor = Some(next);
        }
        Err(endless::<T>(self.most_pages, "there are more pages than were allowed"))
    }
}

/// Why a list is not complete, and on which page that happened.
struct Stopped {
    error: Error,
    page: usize,
    /// Whether a kept page among new ones may have led in a circle.
    is_mixed: bool,
}

impl Stopped {
    /// Whether the list may be read again from the start. A cursor belongs to a session, or to an earlier
    /// state of the list, and either may have gone between two pages.
    fn may_begin_again(&self) -> bool {
        match &self.error {
            Error::Server(error) => self.page > 0 && is_invalid(error),
            _ => self.is_mixed,
        }
    }
}

fn endless<T: Listed>(pages: usize, reason: &'static str) -> Stopped {
    let error = Error::Endless { method: T::METHOD, pages, reason };
    Stopped { error, page: pages, is_mixed: false }
}

/// Whether an error is -32602, invalid params, which the specification asks for on an unknown cursor.
fn is_invalid(error: &ServerError) -> bool {
    error.rpc.code == -32602
}

fn read<T: Listed>(json: Json) -> Result<Page<T>, serde_json::Error> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Next {
        #[serde(default)]
        next_cursor: Option<String>,
    }

    let Next { next_cursor } = serde_json::from_slice(json.as_bytes())?;
    let missing = || serde::de::Error::missing_field(T::KEY);
    let items = json.member(T::KEY).and_then(|list| list.elements()).ok_or_else(missing)?;
    let items = items.into_iter().map(model::read).collect::<Result<_, _>>()?;
    Ok(Page { items, next_cursor, json })
}

impl<T: Listed + Send + 'static> IntoFuture for List<T> {
    type Output = Result<Vec<T>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async { self.whole().await.map(|whole| whole.value) })
    }
}

impl<T> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List").field("most_pages", &self.most_pages).finish_non_exhaustive()
    }
}

/// The default limit of pages: far more than known servers have, so that an endless list does not use up all
/// memory.
const PAGES: usize = 1000;
const BYTES: usize = 64 << 20;
