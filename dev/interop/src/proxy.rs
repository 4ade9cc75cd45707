//! A TCP proxy that breaks connections where a check says, byte by byte.
//!
//! It parses as little HTTP as it must: where a request begins, and the lines `id:` in an answer. It passes
//! everything else on unchanged.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A fault that happens once. Orders are carried out one after the other, each with the request that it
/// names.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    /// Cut the connection after this many events with an id.
    Cut { request: &'static str, events: usize },
    /// Cut the connection after this many events, with or without an id.
    CutOff { request: &'static str, events: usize },
    /// Pass the answer on byte by byte.
    Drip { request: &'static str },
    /// Do not pass the request on; answer it with this head.
    Refuse { request: &'static str, head: &'static str },
    /// Pass the request on, but close the connection before the answer begins.
    Swallow { request: &'static str },
}

impl Order {
    const fn request(&self) -> &'static str {
        match self {
            Self::Cut { request, .. }
            | Self::CutOff { request, .. }
            | Self::Drip { request }
            | Self::Refuse { request, .. }
            | Self::Swallow { request } => request,
        }
    }
}

/// A proxy in front of one server. Dropping it ends it and every connection through it.
pub(crate) struct Proxy {
    address: SocketAddr,
    orders: SharedOrders,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Creates a proxy to this port of this machine.
    pub(crate) async fn before(port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let orders = SharedOrders::default();
        let task = tokio::spawn(accept(listener, port, orders.clone()));
        Ok(Self { address, orders, task })
    }

    /// Creates a proxy to this port that offers the server this revision in place of a newer one: the server
    /// then speaks no newer one.
    pub(crate) async fn offering(port: u16, revision: &'static str) -> std::io::Result<Self> {
        let proxy = Self::before(port).await?;
        proxy.orders.lock().revision = Some(revision);
        Ok(proxy)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) fn order(&self, order: Order) {
        self.orders.lock().open.push_back(order);
    }

    /// Returns the heads of all requests so far, in lower case.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.orders.lock().heads.clone()
    }

    /// Returns the session that the last request named.
    pub(crate) fn session(&self) -> Option<String> {
        self.orders.lock().session.clone()
    }

    /// Returns how many orders were carried out.
    pub(crate) fn done(&self) -> usize {
        self.orders.lock().done
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Clone, Default)]
struct SharedOrders(Arc<Mutex<Orders>>);

#[derive(Default)]
struct Orders {
    open: VecDeque<Order>,
    done: usize,
    heads: Vec<String>,
    session: Option<String>,
    /// The newest revision that the server is offered.
    revision: Option<&'static str>,
}

impl SharedOrders {
    fn lock(&self) -> MutexGuard<'_, Orders> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the revision that the server is offered in place of the client's. Both have one length.
    fn offer(&self, request: Vec<u8>) -> Vec<u8> {
        let Some(revision) = self.lock().revision else { return request };
        match String::from_utf8(request) {
            Ok(text) => {
                let offered = text.replace(
                    r#""protocolVersion":"2025-11-25""#,
                    &format!(r#""protocolVersion":"{revision}""#),
                );
                offered.into_bytes()
            }
            Err(error) => error.into_bytes(),
        }
    }

    /// Returns the next order, if it names this request, which is recorded.
    fn take(&self, request: &[u8]) -> Option<Order> {
        let mut orders = self.lock();
        let text = String::from_utf8_lossy(request);
        let head = text.split("\r\n\r\n").next().unwrap_or_default();
        if let Some(session) = session(head) {
            orders.session = Some(session.to_owned());
        }
        orders.heads.push(head.to_ascii_lowercase());
        let is_meant = orders.open.front().is_some_and(|order| holds(request, order.request()));
        if is_meant { orders.open.pop_front() } else { None }
    }
}

async fn accept(listener: TcpListener, port: u16, orders: SharedOrders) {
    // In this task, so that ending it ends the connections, too.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let orders = orders.clone();
        connections.spawn(async move {
            // If the server is down, the connection closes.
            if let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await {
                let _ = carry(client, server, &orders).await;
            }
        });
    }
}

/// Carries bytes both ways until one side ends, or an order ends both.
async fn carry(
    mut client: TcpStream,
    mut server: TcpStream,
    orders: &SharedOrders,
) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    let (mut up, mut down) = (vec![0; 65536], vec![0; 65536]);
    let mut fault = Fault::None;
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let read = read?;
                if read == 0 {
                    return Ok(());
                }
                let mut request = up[..read].to_vec();
                if begins(&request) {
                    read_body(&mut client, &mut request).await?;
                    fault = Fault::of(orders.take(&request));
                    request = orders.offer(request);
                }
                if let Fault::Refuse(head) = fault {
                    orders.lock().done += 1;
                    return client.write_all(head.as_bytes()).await;
                }
                server.write_all(&request).await?;
            }
            read = server.read(&mut down) => {
                let read = read?;
                if read == 0 || fault.answer(&mut client, &down[..read], orders).await?.is_break() {
                    return Ok(());
                }
            }
        }
    }
}

/// What goes wrong with the answer on this connection.
enum Fault {
    Cut(Cut),
    Drip { begun: bool },
    None,
    Refuse(&'static str),
    Swallow,
}

impl Fault {
    const fn of(order: Option<Order>) -> Self {
        match order {
            Some(Order::Cut { events, .. }) => Self::Cut(Cut::after(events, b"id:")),
            Some(Order::CutOff { events, .. }) => Self::Cut(Cut::after(events, b"data:")),
            Some(Order::Drip { .. }) => Self::Drip { begun: false },
            Some(Order::Refuse { head, .. }) => Self::Refuse(head),
            Some(Order::Swallow { .. }) => Self::Swallow,
            None => Self::None,
        }
    }

    /// Passes a part of the answer on, or ends the connection.
    async fn answer(
        &mut self,
        client: &mut TcpStream,
        part: &[u8],
        orders: &SharedOrders,
    ) -> std::io::Result<ControlFlow<()>> {
        match self {
            Self::Swallow => {
                orders.lock().done += 1;
                return Ok(ControlFlow::Break(()));
            }
            Self::Drip { begun } => {
                orders.lock().done += usize::from(!std::mem::replace(begun, true));
                for byte in part {
                    client.write_all(&[*byte]).await?;
                    tokio::task::yield_now().await;
                }
            }
            Self::Cut(cut) => {
                client.write_all(part).await?;
                if cut.comes_after(part) {
                    orders.lock().done += 1;
                    client.flush().await?;
                    return Ok(ControlFlow::Break(()));
                }
            }
            Self::None | Self::Refuse(_) => client.write_all(part).await?,
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Counts events in the bytes of an answer: those with a line that begins with this.
struct Cut {
    events: usize,
    mark: &'static [u8],
    line: Vec<u8>,
    counts: bool,
}

impl Cut {
    const fn after(events: usize, mark: &'static [u8]) -> Self {
        Self { events, mark, line: Vec::new(), counts: false }
    }

    /// Whether the cut comes after this chunk. A chunk is never split: what the server wrote at once arrives
    /// at once.
    fn comes_after(&mut self, chunk: &[u8]) -> bool {
        for byte in chunk {
            match byte {
                b'\n' => self.line_ended(),
                b'\r' => {}
                byte => self.line.push(*byte),
            }
        }
        self.events == 0
    }

    fn line_ended(&mut self) {
        if self.line.is_empty() && self.counts {
            self.events = self.events.saturating_sub(1);
            self.counts = false;
        }
        self.counts |= self.line.starts_with(self.mark);
        self.line.clear();
    }
}

/// Returns the session that a head names, with its case kept.
fn session(head: &str) -> Option<&str> {
    let headers = head.lines().filter_map(|line| line.split_once(':'));
    let mut named = headers.filter(|(name, _)| name.eq_ignore_ascii_case("mcp-session-id"));
    named.next().map(|(_, value)| value.trim())
}

fn begins(bytes: &[u8]) -> bool {
    ["POST ", "GET ", "DELETE "].iter().any(|verb| bytes.starts_with(verb.as_bytes()))
}

/// Reads on until the head and the body that it announces are there.
async fn read_body(client: &mut TcpStream, request: &mut Vec<u8>) -> std::io::Result<()> {
    loop {
        let text = String::from_utf8_lossy(request);
        if let Some(end) = text.find("\r\n\r\n") {
            let head = text[..end].to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.and_then(|it| it.trim().parse().ok()).unwrap_or(0);
            // Heads are ASCII, so positions in the text are positions in the bytes.
            if request.len() >= end + 4 + length {
                return Ok(());
            }
        }
        if client.read_buf(request).await? == 0 {
            return Ok(());
        }
    }
}

fn holds(bytes: &[u8], needle: &str) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_comes_after_the_event_that_was_named_however_its_bytes_arrive() {
        let stream = b"HTTP/1.1 200 OK\r\n\r\n10\r\nid: 1\ndata: \n\n\r\nid: 2\ndata: {}\n\n";

        for size in 1..stream.len() {
            let mut cut = Cut::after(2, b"id:");
            let verdicts: Vec<_> = stream.chunks(size).map(|it| cut.comes_after(it)).collect();

            assert_eq!(
                verdicts.iter().position(|is_cut| *is_cut),
                Some(verdicts.len() - 1),
                "{size}"
            );
        }
    }

    #[test]
    fn events_without_an_id_count_only_where_all_do() {
        let stream = b"event: message\ndata: {}\n\n: a comment\n\n";

        assert!(!Cut::after(1, b"id:").comes_after(stream));
        assert!(Cut::after(1, b"data:").comes_after(stream));
        assert!(!Cut::after(2, b"data:").comes_after(stream));
    }

    #[test]
    fn a_session_is_known_by_the_letters_that_were_sent() {
        let orders = SharedOrders::default();

        orders.take(b"POST /mcp HTTP/1.1\r\nMcp-Session-Id: aB1\r\n\r\n{}");
        orders.take(b"GET /health HTTP/1.1\r\n\r\n");

        assert_eq!(orders.lock().session.as_deref(), Some("aB1"));
    }

    #[test]
    fn a_server_is_offered_no_newer_revision() {
        let orders = SharedOrders::default();
        let request = br#"{"params":{"protocolVersion":"2025-11-25"}}"#.to_vec();

        let same = orders.offer(request.clone());
        orders.lock().revision = Some("2025-06-18");
        let older = orders.offer(request.clone());

        assert_eq!(same, request);
        assert_eq!(older, br#"{"params":{"protocolVersion":"2025-06-18"}}"#);
    }

    #[test]
    fn an_order_waits_for_the_request_that_it_names() {
        let orders = SharedOrders::default();
        orders.lock().open.push_back(Order::Cut { request: "tools/call", events: 1 });

        assert!(orders.take(b"POST /mcp {\"method\":\"ping\"}").is_none());
        assert!(orders.take(b"POST /mcp {\"method\":\"tools/call\"}").is_some());
        assert!(orders.take(b"POST /mcp {\"method\":\"tools/call\"}").is_none());
    }
}
