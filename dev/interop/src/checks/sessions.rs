//! Every way in which a server of another SDK loses a session, each in a process of the check's own.
//!
//! A call that meets a lost session is answered in a new one and runs once. A call whose session is deleted
//! while it runs is answered, or says that it may have run. Beside our client, a raw session records what the
//! server answers.

use std::time::Duration;

use futures_util::future::join;
use tokio::time::sleep;

use crate::bench::Bench;
use crate::partner::{Partner, Verdict, expect, holds, story, words};
use crate::process::{Process, Setting};
use crate::proxy::{Order, Proxy};
use crate::raw::{RawSession, delete};

pub(super) async fn a_session_that_a_restart_lost_is_renewed_once(bench: Bench) -> Verdict {
    lost(bench, STREAMS, Way::Restart).await
}

pub(super) async fn a_session_that_was_deleted_is_renewed_once(bench: Bench) -> Verdict {
    lost(bench, STREAMS, Way::Delete).await
}

pub(super) async fn a_session_that_expired_is_renewed_once(bench: Bench) -> Verdict {
    lost(bench, EXPIRING, Way::Expire).await
}

pub(super) async fn a_session_that_is_deleted_in_mid_call_leaves_one_run(bench: Bench) -> Verdict {
    deleted_in_mid_call(bench, STREAMS).await
}

pub(super) async fn in_json_mode_a_session_that_a_restart_lost_is_renewed_once(
    bench: Bench,
) -> Verdict {
    lost(bench, JSON, Way::Restart).await
}

pub(super) async fn in_json_mode_a_session_that_was_deleted_is_renewed_once(
    bench: Bench,
) -> Verdict {
    lost(bench, JSON, Way::Delete).await
}

pub(super) async fn in_json_mode_a_session_that_is_deleted_in_mid_call_leaves_one_run(
    bench: Bench,
) -> Verdict {
    deleted_in_mid_call(bench, JSON).await
}

pub(super) async fn where_the_sdk_answers_a_session_that_a_restart_lost_is_renewed_once(
    bench: Bench,
) -> Verdict {
    lost(bench, SDK_ANSWERS, Way::Restart).await
}

pub(super) async fn where_the_sdk_answers_a_session_that_was_deleted_is_renewed_once(
    bench: Bench,
) -> Verdict {
    lost(bench, SDK_ANSWERS, Way::Delete).await
}

/// How a server is started, and the words for that in the record.
#[derive(Clone, Copy)]
struct Mode {
    name: &'static str,
    settings: &'static [Setting],
}

const STREAMS: Mode = Mode { name: "", settings: &[] };
const JSON: Mode = Mode { name: "JSON mode, ", settings: &[("INTEROP_JSON", "1")] };
const EXPIRING: Mode = Mode { name: "", settings: &[("INTEROP_IDLE_MS", "500")] };
const SDK_ANSWERS: Mode = Mode { name: "SDK alone, ", settings: &[("INTEROP_SESSIONS", "sdk")] };

/// How a session is lost between two calls.
#[derive(Clone, Copy)]
enum Way {
    Delete,
    Expire,
    Restart,
}

impl Way {
    const fn name(self) -> &'static str {
        match self {
            Self::Delete => "deleted",
            Self::Expire => "expired",
            Self::Restart => "after a restart",
        }
    }
}

/// A server of the check's own, a client that has used a session of it, and a raw session.
struct Scene {
    bench: Bench,
    mode: Mode,
    process: Process,
    proxy: Proxy,
    partner: Partner,
    raw: RawSession,
}

impl Scene {
    async fn set(bench: Bench, mode: Mode) -> Verdict<Self> {
        let bench = bench.with(mode.settings);
        let process = bench.process().await?;
        let proxy = Proxy::before(process.port()).await.map_err(words)?;
        let raw = RawSession::open(process.port()).await?;
        let ping = raw.pings().await?;
        let is_json =
            ping.header("content-type").is_some_and(|it| it.starts_with("application/json"));
        expect(is_json == (mode.name == JSON.name), || raw.words(&ping))?;
        if mode.settings == EXPIRING.settings {
            // For some servers an open standing stream keeps a session in use.
            proxy.order(Order::Refuse { request: "GET /mcp", head: NO_STREAM });
        }
        let mut partner = bench.partner_of(&proxy.url())?;
        partner.call(bench.surface.echo("before")).await?;
        partner.sessions();
        Ok(Self { bench, mode, process, proxy, partner, raw })
    }

    /// Returns a key of the ledger that no other check writes.
    fn key(&self, name: &str) -> String {
        let mode = self.mode.name.replace([' ', ','], "-").to_ascii_lowercase();
        format!("session-{mode}{name}").replace(' ', "-")
    }

    fn record(&self, when: &str, answer: String) {
        self.bench.record(format!("{}{when}", self.mode.name), answer);
    }

    /// Ends both sessions.
    async fn lose(&mut self, way: Way) -> Verdict {
        match way {
            Way::Delete => {
                let answer = self.raw.deletes().await?;
                self.record("its own DELETE", self.raw.words(&answer));
                let session = self.session()?;
                delete(self.process.port(), &session).await.map(drop)
            }
            Way::Expire => {
                sleep(LONG_IDLE).await;
                Ok(())
            }
            Way::Restart => {
                self.process.kill().await.map_err(words)?;
                self.process.come_back().await.map_err(words)
            }
        }
    }

    /// Returns the session of the client.
    fn session(&self) -> Verdict<String> {
        self.proxy.session().ok_or_else(|| "the client named no session".to_owned())
    }

    /// Checks that a request in the lost session, sent raw, is refused, and that nothing runs.
    async fn is_refused(&self, way: Way) -> Verdict {
        let key = self.key(&format!("raw-{}", way.name()));
        let call = self.raw.calls(&self.bench.surface.count(&key, 0)).await?;
        let ping = self.raw.pings().await?;
        let (call_words, ping_words) = (self.raw.words(&call), self.raw.words(&ping));
        self.record(way.name(), call_words.clone());
        if ping_words != call_words {
            self.record(&format!("{}, a ping", way.name()), ping_words);
        }
        expect(!call.is_result(), || format!("the session is not lost: {call_words}"))?;
        let ran = self.bench.noted("ran", &key);
        expect(ran == 0, || format!("it refused a call and ran it {ran} times: {call_words}"))
    }
}

/// Loses the session between two calls, and checks that the next, an unsafe one, is answered and runs once.
async fn lost(bench: Bench, mode: Mode, way: Way) -> Verdict {
    let mut scene = Scene::set(bench, mode).await?;
    let key = scene.key(way.name());

    scene.lose(way).await?;
    scene.is_refused(way).await?;
    scene.partner.call(scene.bench.surface.count(&key, 0)).await?;

    scene.bench.ran_once(&key)?;
    let sessions = scene.partner.sessions();
    expect(sessions == 1, || format!("{sessions} sessions were made"))
}

/// Deletes the session while an unsafe call runs, and checks that the call ends with its answer or in doubt,
/// that it ran once, and that the next one is answered.
async fn deleted_in_mid_call(bench: Bench, mode: Mode) -> Verdict {
    let scene = Scene::set(bench, mode).await?;
    record_mid_call(&scene).await?;
    let (key, next) = (scene.key("mid-call"), scene.key("mid-call-next"));
    let question = scene.bench.surface.count(&key, LONG_CALL_MS);
    let answer = question.answer.clone();

    let call = scene.partner.begin(question).timeout(DEADLINE).into_future();
    let (end, deleted) = join(call, async {
        scene.bench.notes("ran", &key).await?;
        delete(scene.process.port(), &scene.session()?).await
    })
    .await;
    deleted?;
    // A repeat of the call may still be on its way.
    scene.partner.call(scene.bench.surface.count(&next, 0)).await?;

    scene.bench.ran_once(&key)?;
    scene.bench.ran_once(&next)?;
    match end {
        Ok(result) => holds(&result, &answer).map(drop),
        Err(error) => {
            expect(error.may_have_run(), || format!("it ran, and is denied: {}", story(error)))
        }
    }
}

/// Records what a call gets whose session is deleted, and what the DELETE gets.
async fn record_mid_call(scene: &Scene) -> Verdict {
    let key = scene.key("raw-mid-call");
    let question = scene.bench.surface.count(&key, LONG_CALL_MS);
    let (call, deleted) = join(scene.raw.calls(&question), async {
        scene.bench.notes("ran", &key).await?;
        scene.raw.deletes().await
    })
    .await;
    let (call, deleted) = (call?, deleted?);
    scene.record("in mid-call, the call", scene.raw.words(&call));
    scene.record("in mid-call, the DELETE", scene.raw.words(&deleted));
    Ok(())
}

const NO_STREAM: &str = "HTTP/1.1 405 Method Not Allowed\r\nallow: POST, DELETE\r\ncontent-length: 0\r\n\
                         connection: close\r\n\r\n";
/// How long a session is left idle: more than twice the idle time of a session at the server.
const LONG_IDLE: Duration = Duration::from_millis(1500);
/// How long a call takes: long enough to be deleted meanwhile.
const LONG_CALL_MS: u64 = 1000;
/// How long to wait for a call that may never be answered.
const DEADLINE: Duration = Duration::from_secs(5);
