//! The connection that a request goes out on.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, join};
use http::{HeaderMap, Response};
use ridethrough_core::{
    Address, AttemptId, Cause, ConnectionId, CredentialsId, Delivery, Failure, Headers, Lane,
    Outgoing, Route, Verb,
};
use ridethrough_lab::{Http2, Protocol, Server, Turn};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::Http;
use crate::clock::SleepClock;
use crate::dial::{Connection, Dial, Peek, Tls, TlsSettings};
use crate::endpoint::Endpoint;
use crate::pool::{Pool, PoolSettings};
use crate::transport::{Body, Recall, RecalledAttempts, Reply, Transport, TransportRequest};

/// Runs a scenario over HTTP/1.1 and over HTTP/2.
macro_rules! on_both {
    ($($(#[$meta:meta])* async fn $name:ident($bench:ident: Bench) $body:block)*) => {$(
        $(#[$meta])*
        mod $name {
            use super::*;

            async fn scenario($bench: Bench) $body

            #[tokio::test(start_paused = true)]
            async fn over_http1() {
                scenario(Bench::over(Protocol::Http1)).await;
            }

            #[tokio::test(start_paused = true)]
            async fn over_http2() {
                scenario(Bench::over(Protocol::Http2Tls)).await;
            }
        }
    )*};
}

on_both! {
    async fn an_answer_names_the_connection_that_it_came_on(bench: Bench) {
        let first = bench.ask(Route::Any).await.unwrap();
        let again = bench.ask(Route::Any).await.unwrap();
        bench.connect().await;
        let other = bench.ask(Route::Any).await.unwrap();

        assert_eq!(first, again);
        assert_ne!(first.ours, other.ours);
        assert_ne!(first.theirs, other.theirs);
    }

    async fn a_request_goes_out_on_the_connection_that_it_names(bench: Bench) {
        let first = bench.ask(Route::Any).await.unwrap();
        bench.hold("held");
        let (held, second) = join(bench.ask_for("held", Route::Any), async {
            sleep(millis(10)).await;
            let second = bench.ask(Route::Any).await.unwrap();
            bench.release("held");
            second
        }).await;

        for route in [Route::Only(first.ours), Route::Prefer(first.ours)] {
            assert_eq!(bench.ask(route).await.unwrap(), first);
            assert_eq!(bench.ask(Route::Only(second.ours)).await.unwrap(), second);
        }
        assert_eq!(held.unwrap(), first);
    }

    async fn a_connection_that_may_be_dead_is_left_by_this_request_and_by_all_later_ones(bench: Bench) {
        let first = bench.ask(Route::Any).await.unwrap();

        let second = bench.ask(Route::Instead(first.ours)).await.unwrap();
        let third = bench.ask(Route::Any).await.unwrap();

        assert_ne!(second, first);
        assert_eq!(third, second);
    }

    async fn a_connection_that_is_gone_is_told_at_once_and_nothing_is_sent(bench: Bench) {
        let first = bench.ask(Route::Any).await.unwrap();
        bench.server.reset_connections();
        sleep(millis(10)).await;
        let began = Instant::now();

        let failure = bench.ask(Route::Only(first.ours)).await.unwrap_err();
        let unknown = bench.ask(Route::Only(ConnectionId::new(99))).await.unwrap_err();

        assert_eq!(failure, Failure::not_sent(Cause::ConnectionGone));
        assert_eq!(unknown.delivery, Delivery::NotSent);
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert_eq!(bench.server.connections(), 1, "none is made in its place");
        let elsewhere = bench.ask(Route::Prefer(first.ours)).await.unwrap();
        assert_ne!(elsewhere.ours, first.ours);
    }

    async fn a_request_that_is_taken_back_while_it_waits_is_not_sent_and_leaves_its_connection(bench: Bench) {
        let recalled = Arc::<RecalledAttempts>::default();
        recalled.insert(AttemptId::new(1));

        let failure = bench.taken_back(Recall::of(AttemptId::new(1), recalled.clone())).await;

        assert_eq!(failure, Failure::not_sent(Cause::Withheld));
        assert_eq!((bench.server.connections(), bench.requests.load(Ordering::Relaxed)), (1, 0));
        bench.ask(Route::Any).await.unwrap();
        assert_eq!(bench.server.connections(), 1, "it is used by the next");
        recalled.remove(AttemptId::new(1));
        assert_eq!(Recall::of(AttemptId::new(1), recalled).withheld(), None);
    }

    async fn who_waits_for_a_connection_learns_that_it_died(bench: Bench) {
        bench.server.http2(Http2 { max_concurrent_streams: Some(1), ..Http2::default() });
        let first = bench.ask(Route::Any).await.unwrap();
        bench.hold("held");
        let dying = async {
            sleep(millis(500)).await;
            bench.server.reset_connections();
        };
        let waiting = async {
            sleep(millis(10)).await;
            bench.ask(Route::Only(first.ours)).await
        };

        let ((), (held, waited)) =
            join(dying, join(bench.ask_for("held", Route::Any), waiting)).await;

        assert!(held.is_err());
        assert_eq!(waited.unwrap_err(), Failure::not_sent(Cause::ConnectionGone));
    }

    async fn a_connection_that_comes_back_goes_first_to_whoever_waits_for_it(bench: Bench) {
        bench.server.http2(Http2 { max_concurrent_streams: Some(1), ..Http2::default() });
        let first = bench.ask(Route::Any).await.unwrap();
        bench.hold("held");
        let began = Instant::now();
        // This request is polled before the one that waits, at the moment when the connection is free.
        let newcomer = async {
            sleep(secs(1)).await;
            bench.release("held");
            sleep(millis(10)).await;
            bench.ask(Route::Any).await.unwrap()
        };
        let holding = bench.ask_for("held", Route::Any);
        let waiting = async {
            sleep(millis(10)).await;
            bench.hold("waited");
            let asked = bench.ask_for("waited", Route::Only(first.ours));
            join(asked, async { sleep(secs(2)).await; bench.release("waited") }).await.0
        };

        let (newcomer, (held, waited)) = join(newcomer, join(holding, waiting)).await;

        assert_eq!(held.unwrap(), first);
        assert_eq!(waited.unwrap(), first);
        assert_ne!(newcomer.ours, first.ours);
        assert_eq!(began.elapsed(), millis(2010));
    }

    async fn a_preferred_connection_is_waited_for_for_a_tenth_of_a_second(bench: Bench) {
        bench.server.http2(Http2 { max_concurrent_streams: Some(1), ..Http2::default() });
        let first = bench.ask(Route::Any).await.unwrap();

        let mut seen = Vec::new();
        for busy in [millis(50), millis(500)] {
            bench.hold("held");
            let holding = bench.ask_for("held", Route::Only(first.ours));
            let releasing = async {
                sleep(busy).await;
                bench.release("held");
            };
            let preferring = async {
                sleep(millis(1)).await;
                let began = Instant::now();
                let seen = bench.ask(Route::Prefer(first.ours)).await.unwrap();
                (seen == first, began.elapsed())
            };
            seen.push(join(join(holding, releasing), preferring).await.1);
        }

        assert_eq!(seen, [(true, millis(49)), (false, millis(100))]);
    }

    async fn who_stops_waiting_leaves_the_connection_to_others(bench: Bench) {
        bench.server.http2(Http2 { max_concurrent_streams: Some(1), ..Http2::default() });
        let first = bench.ask(Route::Any).await.unwrap();
        bench.hold("held");
        let holding = bench.ask_for("held", Route::Any);
        let waiting = async {
            sleep(millis(10)).await;
            let asked = bench.ask(Route::Only(first.ours));
            assert!(timeout(millis(10), asked).await.is_err());
            bench.release("held");
        };

        let (held, ()) = join(holding, waiting).await;

        assert_eq!(held.unwrap(), first);
        assert_eq!(bench.ask(Route::Any).await.unwrap(), first);
        assert_eq!(bench.server.connections(), 1);
    }
}

/// The pool makes a new connection when the shared ones are no longer trusted.
#[tokio::test(start_paused = true)]
async fn a_shared_connection_that_was_retired_is_gone() {
    let bench = Bench::over(Protocol::Http2Tls);
    let first = bench.ask(Route::Any).await.unwrap();

    bench.connect().await;

    let failure = bench.ask(Route::Only(first.ours)).await.unwrap_err();
    assert_eq!(failure.cause, Cause::ConnectionGone);
}

/// The time that a call waited for a place must not shorten its wait for a connection.
#[tokio::test(start_paused = true)]
async fn a_connection_about_to_come_back_is_waited_for_after_a_long_wait_for_a_place() {
    // The limit of five leaves room for two calls at once.
    let bench = Bench::with_limit(Protocol::Http1, 5);
    bench.hold("first");
    bench.hold("second");
    let mut first = Box::pin(bench.ask_for("first", Route::Any));
    assert!(timeout(millis(1), &mut first).await.is_err());
    let (second, mut body) = bench.begin("second", Route::Any).await.unwrap();
    let third = async { bench.ask(Route::Any).await.unwrap() };
    let freeing = async {
        sleep(secs(1)).await;
        body.wind_down();
        drop(first);
        sleep(millis(50)).await;
        bench.release("second");
        assert!(body.chunk().await.is_none());
    };

    let (third, ()) = join(third, freeing).await;

    assert_eq!(third, second);
    assert_eq!(bench.server.connections(), 2);
}

/// A server that tells which connection it was asked on, and a client of it.
struct Bench {
    server: Server,
    http: Http,
    gates: Gates,
    /// How many requests came.
    requests: Arc<AtomicUsize>,
}

/// The paths whose answers are held back.
type Gates = Arc<Mutex<BTreeMap<String, Arc<Notify>>>>;

/// A connection, as both sides number it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    ours: ConnectionId,
    theirs: u64,
}

impl Bench {
    fn over(protocol: Protocol) -> Self {
        Self::with_limit(protocol, 100)
    }

    fn with_limit(protocol: Protocol, limit: usize) -> Self {
        let gates = Gates::default();
        let (held, requests) = (gates.clone(), Arc::<AtomicUsize>::default());
        let counted = requests.clone();
        let server = Server::new(protocol, move |turn: Turn| {
            counted.fetch_add(1, Ordering::Relaxed);
            let gate = held.lock().unwrap().get(&turn.request.target).cloned();
            serve(turn, gate)
        });
        let url = format!("{}://server.test/", protocol.scheme());
        let endpoint = Endpoint::parse(&url).unwrap();
        let mut dial: Arc<dyn Dial> = Arc::new(Pipes(server.clone()));
        if protocol.is_tls() {
            let pem = server.authority().root_pem();
            let extra_roots = vec![CertificateDer::from_pem_slice(pem.as_ref()).unwrap()];
            let settings = TlsSettings { extra_roots, ..TlsSettings::default() };
            dial = Arc::new(Tls::new(dial, &endpoint, settings).unwrap());
        }
        let sleep = SleepClock::default().watch();
        let settings = PoolSettings { connect_within: secs(5), limit, sleep };
        let pool = Pool::new(dial, endpoint.clone(), settings);
        let http = Http::new(endpoint, HeaderMap::new(), pool);
        Self { server, http, gates, requests }
    }

    async fn connect(&self) {
        self.http.perform(TransportRequest::Connect).await.unwrap();
    }

    async fn ask(&self, route: Route) -> Result<Seen, Failure> {
        self.ask_for("", route).await
    }

    /// Requests this path and reads the answer to its end.
    async fn ask_for(&self, path: &str, route: Route) -> Result<Seen, Failure> {
        let (seen, mut body) = self.begin(path, route).await?;
        while let Some(chunk) = body.chunk().await {
            chunk?;
        }
        Ok(seen)
    }

    async fn begin(&self, path: &str, route: Route) -> Result<(Seen, Box<dyn Body>), Failure> {
        let request = asked(path, route, Recall::default());
        let reply = self.http.perform(request).await?;
        let Reply::Answered { head, body, .. } = reply else { panic!("{reply:?}") };
        // The server tells its number by the one header that is read as a number.
        let theirs = head.retry_after.unwrap().as_secs();
        Ok((Seen { ours: head.connection.unwrap(), theirs }, body))
    }

    async fn taken_back(&self, recall: Recall) -> Failure {
        self.http.perform(asked("", Route::Any, recall)).await.unwrap_err()
    }

    /// Holds back the rest of answers for this path until it is released.
    fn hold(&self, path: &str) {
        self.gates.lock().unwrap().insert(format!("/{path}"), Arc::default());
    }

    fn release(&self, path: &str) {
        self.gates.lock().unwrap().remove(&format!("/{path}")).unwrap().notify_one();
    }
}

async fn serve(turn: Turn, gate: Option<Arc<Notify>>) {
    let head = Response::builder()
        .status(200)
        .header("content-type", "text/plain")
        .header("retry-after", turn.request.connection.to_string());
    let mut stream = turn.reply.open(head.body(()).unwrap()).await;
    if let Some(gate) = gate {
        tokio::select! {
            () = gate.notified() => {}
            () = stream.gone() => return,
        }
    }
    stream.finish().await;
}

/// A dial to the server's own pipes.
struct Pipes(Server);

impl Dial for Pipes {
    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async {
            let pipe = self.0.dial().await.unwrap();
            let peek = Look(pipe.peek());
            Ok(Connection::new(pipe, peek))
        })
    }
}

struct Look(ridethrough_lab::Peek);

impl Peek for Look {
    fn is_quiet(&self) -> bool {
        self.0.is_quiet()
    }
}

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn asked(path: &str, route: Route, recall: Recall) -> TransportRequest {
    let target = Some(format!("/{path}").into());
    let outgoing = Outgoing {
        attempt: AttemptId::new(1),
        verb: Verb::Get { last_event_id: None },
        to: Address { target, ..Address::default() },
        credentials: CredentialsId::new(0),
        headers: Headers::default(),
        lane: Lane::Call,
        route,
    };
    TransportRequest::Request { outgoing, token: None, recall }
}
