//! Waits for the browser to come back from a login: on a port of this machine, or at a URL of the program's own.
//!
//! A port is listened on on this machine only, and before the URL is opened. A request that is not the callback of this
//! login, by host, method, path or state, is answered 400 and changes nothing. Answers are fixed texts: words
//! of a request are never in them. The first request with the state of the login ends it.

mod request;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use ridethrough_oauth_core::HttpUrl;
use ridethrough_oauth_core::login::{Callback, CallbackOutcome, PendingLogin, is_own_host};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use request::{Reply, Request};

use crate::error::LoginFailure;
use crate::person::Person;
use crate::settings::RedirectTo;

/// Waits for the browser.
#[derive(Debug)]
pub(crate) struct CallbackListener {
    /// The sockets of the port; none if the program answers the browser itself.
    sockets: [Option<TcpListener>; 2],
    redirect_uris: Vec<HttpUrl>,
}

impl CallbackListener {
    /// Binds the port of the settings; if none is set, `usual` if it is free, or any.
    pub(crate) async fn bind(to: &RedirectTo, usual: Option<u16>) -> io::Result<Self> {
        let first = match (to.port, usual) {
            (Some(port), _) => bind(IpAddr::V4(Ipv4Addr::LOCALHOST), port).await?,
            (None, usual) => bind_usual(usual).await?,
        };
        let port = first.local_addr()?.port();
        // `localhost` may resolve to IPv6 first. Without IPv6 it resolves to IPv4 only.
        let second = bind(IpAddr::V6(Ipv6Addr::LOCALHOST), port).await.ok();
        // With the host of the settings first, and then in the other spelling.
        let other = if to.host == "localhost" { "127.0.0.1" } else { "localhost" };
        let uri = |host: &str| HttpUrl::parse(&format!("http://{host}:{port}{}", to.path)).ok();
        let redirect_uris = [to.host.as_str(), other].into_iter().filter_map(uri).collect();
        Ok(Self { sockets: [Some(first), second], redirect_uris })
    }

    /// Listens nowhere: the program answers the browser at this URL, and the callback comes by
    /// [`Person::pasted`].
    pub(crate) fn at(url: HttpUrl) -> Self {
        Self { sockets: [None, None], redirect_uris: vec![url] }
    }

    /// Returns the redirect URIs, the preferred one first.
    pub(crate) fn redirect_uris(&self) -> &[HttpUrl] {
        &self.redirect_uris
    }

    /// Waits for the callback of this login, or for one that the person pastes.
    pub(crate) async fn wait(
        &self,
        login: &mut PendingLogin,
        person: &dyn Person,
        within: Duration,
    ) -> Result<CallbackOutcome, LoginFailure> {
        let end = Instant::now() + within;
        let waiting = self.wait_for_ever(login, person);
        timeout_at(end, waiting).await.map_err(|_| LoginFailure::NotFinished(within))
    }

    async fn wait_for_ever(
        &self,
        login: &mut PendingLogin,
        person: &dyn Person,
    ) -> CallbackOutcome {
        let mut requests = JoinSet::new();
        let mut pasted = person.pasted();
        loop {
            let [first, second] = &self.sockets;
            let has_room = requests.len() < MOST_AT_ONCE;
            tokio::select! {
                stream = accept(first), if has_room => drop(requests.spawn(request::read(stream))),
                stream = accept(second), if has_room => drop(requests.spawn(request::read(stream))),
                Some(read) = requests.join_next() => {
                    let Ok(Some((stream, request))) = read else { continue };
                    let outcome = take(login, request.as_ref());
                    let reply = Reply::to(outcome.as_ref());
                    match outcome {
                        Some(outcome) => {
                            request::reply(stream, reply).await;
                            return outcome;
                        }
                        None => drop(tokio::spawn(request::reply(stream, reply))),
                    }
                }
                text = &mut pasted => {
                    let callback = Callback::from_pasted(&text);
                    if let Some(outcome) = callback.and_then(|callback| ours(login, &callback)) {
                        return outcome;
                    }
                    pasted = person.pasted();
                }
            }
        }
    }
}

/// Returns what a request means for the login; `None` if it is not its callback.
fn take(login: &mut PendingLogin, request: Option<&Request>) -> Option<CallbackOutcome> {
    let request = request.filter(|request| request.method == "GET")?;
    let host = request.host.as_deref().filter(|host| is_own_host(host, login));
    host?;
    let callback = Callback::from_target(&request.target, login)?;
    ours(login, &callback)
}

fn ours(login: &mut PendingLogin, callback: &Callback) -> Option<CallbackOutcome> {
    match login.handle(callback) {
        CallbackOutcome::Ignored(why) => {
            tracing::debug!(?why, "a callback was ignored");
            None
        }
        outcome => Some(outcome),
    }
}

/// Returns what the head of a request means for a login, without a socket; `None` if it is not its callback.
///
/// For the fuzzer; it is not part of the API.
#[doc(hidden)]
pub fn rehearse_callback(login: &mut PendingLogin, head: &[u8]) -> Option<CallbackOutcome> {
    take(login, request::parse(head).as_ref())
}

async fn accept(listener: &Option<TcpListener>) -> TcpStream {
    loop {
        let Some(listener) = listener else { return std::future::pending().await };
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            // The process has too many open files, or the peer left: the next connection may be the
            // browser's.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn bind(ip: IpAddr, port: u16) -> io::Result<TcpListener> {
    TcpListener::bind(SocketAddr::new(ip, port)).await
}

async fn bind_usual(usual: Option<u16>) -> io::Result<TcpListener> {
    let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
    match usual {
        Some(port) => match bind(ip, port).await {
            Ok(listener) => Ok(listener),
            Err(_) => bind(ip, 0).await,
        },
        None => bind(ip, 0).await,
    }
}

/// The most connections at once: a browser needs one, and may open a few more in advance.
const MOST_AT_ONCE: usize = 32;
const PAUSE: Duration = Duration::from_millis(50);
