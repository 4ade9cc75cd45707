//! Plays a script, step by step, and reports one line for each.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use super::Dialer;
use super::call::Call;
use super::client::{Heard, TokenSource, WrongClient};
use super::eras::without_bad_tools;
use super::login::WrongLogin;
use super::mistake::{Habit, Mistake};
use super::target::Target;
use crate::adapter::{Answer, Done, Line, Outcome, Step};
use crate::journal::millis;
use crate::lock::lock;

pub(super) async fn play(
    mistake: Mistake,
    dial: Dialer,
    url: &str,
    script: Vec<Step>,
    said: &UnboundedSender<String>,
) {
    let target = Target::of(url, None);
    let mut player =
        WrongPlayer { mistake, dial, target, client: None, heard: Heard::default(), login: None };
    for (place, step) in script.into_iter().enumerate() {
        let began = Instant::now();
        let (result, error) = player.step(step).await;
        let elapsed_ms = millis(began.elapsed());
        let done = Done { ok: error.is_none(), result, error, elapsed_ms };
        let notifications = std::mem::take(&mut *lock(&player.heard));
        let line = Line { step: place, done, notifications };
        // If the receiver is gone, no one needs the line.
        let _ = said.send(serde_json::to_string(&line).unwrap_or_default());
    }
}

struct WrongPlayer {
    mistake: Mistake,
    dial: Dialer,
    target: Option<Target>,
    client: Option<Arc<WrongClient>>,
    heard: Heard,
    /// The login, which outlives clients, as one in a file would.
    login: Option<Arc<WrongLogin>>,
}

type PlayerEnd = (Option<Answer>, Option<String>);

impl WrongPlayer {
    async fn step(&mut self, step: Step) -> PlayerEnd {
        if let Step::Initialize { bearer, login } = step {
            let login = login.map(|login| self.login(seconds(login.within_s)));
            let login = login.flatten();
            return self.initialize(TokenSource { bearer, login }).await;
        }
        if let Step::Sleep { s } = step {
            sleep(seconds(s)).await;
            return (None, None);
        }
        let Some(client) = self.client.clone() else {
            return (None, Some("there is no client: nothing was initialized".to_owned()));
        };
        match step {
            Step::Call { tool, args, timeout_s, concurrency, cancel_after_s } => {
                let limits = Limits::new(timeout_s, cancel_after_s);
                match concurrency {
                    None => one(tool_call(client, &tool, args, limits).await),
                    Some(count) => many(client, &tool, &args, limits, count).await,
                }
            }
            Step::Request { method, params, timeout_s } => {
                let call = Call::new(&client, &method, &params.unwrap_or_default());
                let result = limited(call, Limits::new(timeout_s, None)).await;
                if let Ok(list) = &result {
                    client.learn(list);
                }
                let is_checked = client.is_modern() && !client.has(Habit::KeepsBadTools);
                let result = result.map(|it| if is_checked { without_bad_tools(it) } else { it });
                one(result.map(|json| Outcome { json: Some(json), ..Outcome::default() }))
            }
            Step::Close {} => {
                client.delete().await;
                self.let_go();
                (None, None)
            }
            Step::Initialize { .. } | Step::Sleep { .. } => (None, None),
        }
    }

    /// Returns the login of an earlier client, or a new one.
    fn login(&mut self, within: Duration) -> Option<Arc<WrongLogin>> {
        let is_kept = self.login.is_some() && !self.mistake.has(Habit::ForgetsLogin);
        if !is_kept {
            let (mistake, dial) = (self.mistake, self.dial.clone());
            let new = |target| Arc::new(WrongLogin::new(mistake, dial, target, within));
            self.login = self.target.clone().map(new);
        }
        self.login.clone()
    }

    async fn initialize(&mut self, tokens: TokenSource) -> PlayerEnd {
        self.let_go();
        let Some(target) = self.target.clone() else {
            return (None, Some("the URL does not begin with `http://`".to_owned()));
        };
        let (dial, heard) = (self.dial.clone(), self.heard.clone());
        let client = WrongClient::new(self.mistake, dial, target, tokens, heard);
        self.client = Some(client.clone());
        let patient = [Habit::Hangs, Habit::IgnoresTimeout, Habit::ObeysAbsurdWaits];
        let is_patient = patient.iter().any(|habit| client.has(*habit));
        let limit = if is_patient { Duration::MAX } else { DEFAULT_TIMEOUT };
        let result = tokio::time::timeout(limit, client.begin()).await;
        let result = result.unwrap_or_else(|_| Err(client.in_words("no answer in time")));
        one(result.map(|json| Outcome { json: Some(json), ..Outcome::default() }))
    }

    fn let_go(&mut self) {
        if let Some(client) = self.client.take() {
            let mut background = lock(&client.background);
            background.standing.abort_all();
            background.others.abort_all();
        }
    }
}

impl Drop for WrongPlayer {
    fn drop(&mut self) {
        self.let_go();
    }
}

#[derive(Clone, Copy)]
struct Limits {
    timeout: Duration,
    cancel: Option<Duration>,
}

impl Limits {
    fn new(timeout_s: Option<f64>, cancel_s: Option<f64>) -> Self {
        let timeout = timeout_s.map_or(DEFAULT_TIMEOUT, seconds);
        Self { timeout, cancel: cancel_s.map(seconds) }
    }
}

fn one(result: Result<Outcome, String>) -> PlayerEnd {
    match result {
        Ok(outcome) => (Some(Answer::One(outcome)), None),
        Err(error) => (None, Some(error)),
    }
}

async fn many(
    client: Arc<WrongClient>,
    tool: &str,
    args: &Map<String, Value>,
    limits: Limits,
    count: usize,
) -> PlayerEnd {
    let calls = (0..count).map(|number| {
        let (client, mut args) = (client.clone(), args.clone());
        args.insert("msg".to_owned(), format!("c{number}").into());
        async move {
            let began = Instant::now();
            let (result, error) = match tool_call(client, tool, args, limits).await {
                Ok(outcome) => (Some(outcome), None),
                Err(error) => (None, Some(error)),
            };
            Done { ok: error.is_none(), result, error, elapsed_ms: millis(began.elapsed()) }
        }
    });
    let ends = join_all(calls).await;
    let failed = ends.iter().filter(|end| !end.ok).count();
    let error = (failed > 0).then(|| format!("{failed} of {count} calls failed"));
    (Some(Answer::Many(ends)), error)
}

async fn tool_call(
    client: Arc<WrongClient>,
    tool: &str,
    args: Map<String, Value>,
    limits: Limits,
) -> Result<Outcome, String> {
    // An equal call is answered with the error of the first.
    if !client.has(Habit::SendsRepeats)
        && let Some((.., error)) =
            lock(&client.doubts).iter().find(|(name, given, _)| name == tool && *given == args)
    {
        return Err(error.clone());
    }
    let params = json!({"name": tool, "arguments": args});
    let end = limited(Call::new(&client, "tools/call", &params), limits).await;
    let only_reads = lock(&client.read_only).contains(tool);
    match &end {
        Ok(_) if client.has(Habit::HoldsForEver) => {}
        Ok(_) => lock(&client.doubts).clear(),
        Err(_) if only_reads => {}
        // A refusal by 4xx leaves open less often what the server did.
        Err(error)
            if error.contains("may have run") || error.contains("answered with status 5") =>
        {
            lock(&client.doubts).push((tool.to_owned(), args, error.clone()));
        }
        Err(_) => {}
    }
    let result = end?;
    let content = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = content.iter().filter_map(|part| part["text"].as_str()).collect();
    let is_error = result["isError"].as_bool().unwrap_or(false);
    Ok(Outcome { text: Some(text), is_error: Some(is_error), json: None })
}

/// Makes a call for as long as its caller waits, and then cancels it at the server.
async fn limited(mut call: Call, limits: Limits) -> Result<Value, String> {
    let (client, is_deaf) = (call.client.clone(), call.is_deaf.clone());
    let is_modern = client.is_modern();
    if is_modern && client.has(Habit::CancelsAloud) {
        return loud(call, limits).await;
    }
    let is_patient = client.has(Habit::IgnoresTimeout);
    let longest = if client.has(Habit::KeepsOwnTime) { TWO_MINUTES } else { Duration::MAX };
    let timeout = (!is_patient).then_some(limits.timeout.min(longest));
    let why = tokio::select! {
        biased;
        end = call.run() => return end,
        () = passed(limits.cancel, &is_deaf) => "the call was cancelled",
        () = passed(timeout, &is_deaf) => "the call took too long",
    };
    let text = client.in_words(&format!("{why}; the server may have run it"));
    let others = &mut lock(&client.background).others;
    // In the stateless revision, closing cancels the request.
    if !is_modern && !client.has(Habit::CancelsSilently) {
        let (client, id) = (client.clone(), call.id);
        others.spawn(async move {
            let params = json!({"requestId": id, "reason": why});
            client.notify("notifications/cancelled", Some(params)).await;
        });
    }
    if client.has(Habit::GoesOnAfterCancel) {
        others.spawn(call.go_on());
    }
    Err(text)
}

/// Cancels as [`limited`] does, but the call goes on: the server is only notified.
async fn loud(mut call: Call, limits: Limits) -> Result<Value, String> {
    let (client, id) = (call.client.clone(), call.id);
    let (ended, end) = oneshot::channel();
    lock(&client.background).others.spawn(async move {
        // The caller may have given up.
        let _ = ended.send(call.run().await);
    });
    tokio::select! {
        biased;
        Ok(end) = end => return end,
        () = sleep(limits.cancel.unwrap_or(limits.timeout)) => {}
    }
    client.notify("notifications/cancelled", Some(json!({"requestId": id}))).await;
    Err("the call was cancelled; the server may have run it".to_owned())
}

/// Completes after this time, but never for a call that ignores deadlines.
async fn passed(time: Option<Duration>, is_deaf: &AtomicBool) {
    let Some(time) = time else { return pending().await };
    sleep(time).await;
    if is_deaf.load(Ordering::Relaxed) {
        pending::<()>().await;
    }
}

fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number).unwrap_or(Duration::MAX)
}

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
const TWO_MINUTES: Duration = Duration::from_secs(120);
