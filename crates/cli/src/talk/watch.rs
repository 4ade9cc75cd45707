//! `ridethrough watch`: stays connected, and shows events, notifications and changes of status.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use ridethrough::Error;
use ridethrough::error::{Delivery, Kind, Reason};
use ridethrough::event::{Event, Events, Moment, Notifications, Seen};
use ridethrough::model::LogLevel;
use ridethrough_config::values::seconds;
use tokio::time::{Instant, Interval, interval, sleep_until};

use super::questions::{Asking, Flags};
use super::{Common, Talk, talk_asked};
use crate::choices::{LEVELS, one_of};
use crate::ending::exit::Exit;
use crate::safe;
use repeats::{RepeatTold, Repeats};
use sight::{LastStatus, Sight};

mod repeats;
mod sight;

/// The arguments of `ridethrough watch`.
#[derive(clap::Args)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    common: Common,
    /// Stop after so many seconds, also if the server was not reached by then [default: when stopped by
    /// Ctrl-C]
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds)]
    time: Option<Duration>,
    /// Ask the server for its log, from this level on
    #[arg(long, value_name = "LEVEL", value_parser = one_of(&LEVELS))]
    log: Option<LogLevel>,
}

pub(super) fn play(args: &WatchArgs) -> Result<ExitCode> {
    talk_asked(&args.common, &Flags::default(), Asking::Never, async |talk| args.watch(talk).await)
}

impl WatchArgs {
    async fn watch(&self, talk: &Talk) -> Result<Exit> {
        let (events, notifications) = (talk.client.events(), talk.client.notifications());
        let ends = self.time.map(|time| talk.born + time);
        let server = match ends {
            Some(ends) => {
                talk.client.connect_within(ends - Instant::now()).await.map_err(as_unreachable)?
            }
            None => talk.client.connect().await?,
        };
        // From here on everything goes to stdout.
        talk.teller.abort();
        talk.client.keep_connected();
        talk.terminal.clear();
        let name = server.name().unwrap_or_else(|| "a server without a name".to_owned());
        let name = safe::line(&name);
        talk.terminal.say(&format!("watching {name}; Ctrl-C stops"));
        if let Some(level) = self.log {
            talk.ask_for_log(level).await?;
        }
        let mut lookout = Lookout {
            talk,
            events,
            repeats: Repeats::default(),
            notifications,
            ticks: interval(TICK),
            pings: None,
            last: LastStatus::default(),
        };
        tokio::select! {
            told = lookout.tell_all() => told?,
            () = over(ends) => {}
        }
        Ok(Exit::Done)
    }
}

/// Turns an expired `--time` into `Unreachable` if nothing was sent: a person who watches for a while wants
/// to know what was wrong.
fn as_unreachable(error: Error) -> Error {
    let is_unsent = |reason: &Reason| matches!(reason, Reason::Transport(failure) if failure.delivery == Delivery::NotSent);
    match error {
        Error::Call(mut call) if is_unsent(&call.reason) => {
            call.kind = Kind::Unreachable;
            Error::Call(call)
        }
        error => error,
    }
}

/// Everything that `watch` shows.
struct Lookout<'a> {
    talk: &'a Talk,
    events: Events,
    /// The repeated failures that people were shown.
    repeats: Repeats,
    notifications: Notifications,
    ticks: Interval,
    /// The pings of a server without a standing stream: nothing else would show that it is gone.
    pings: Option<Interval>,
    last: LastStatus,
}

impl Lookout<'_> {
    /// Shows everything until there is no more, or stdout has no reader any more.
    async fn tell_all(&mut self) -> io::Result<()> {
        while let Some(sight) = self.next().await {
            let line = if self.talk.is_json { safe::our_json(&sight.json()) } else { sight.line() };
            let mut out = io::stdout().lock();
            match writeln!(out, "{line}").and_then(|()| out.flush()) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                written => written?,
            }
        }
        Ok(())
    }

    fn now(&self) -> Moment {
        Moment::at(self.talk.born.elapsed())
    }

    /// Returns what is shown of an event: everything to a machine, and repeated failures only once in a while
    /// to people.
    fn told(&mut self, at: Moment, event: &Event) -> Option<Sight> {
        let sight = Sight::event(at, event);
        match event {
            Event::ListenerUnsupported => self.pings = Some(interval(PING)),
            // An answer to our own ping is not shown.
            Event::CallEnded { call, kind: None, .. } if &*call.method == "ping" => return None,
            _ => {}
        }
        match self.repeats.see(at, event) {
            _ if self.talk.is_json => Some(sight),
            RepeatTold::AsItIs => Some(sight),
            RepeatTold::Nothing => None,
            RepeatTold::Words(words) => Some(sight.reworded(words)),
        }
    }

    async fn next(&mut self) -> Option<Sight> {
        loop {
            tokio::select! {
                seen = self.events.next() => match seen? {
                    Seen::Event { at, event } => if let Some(sight) = self.told(at, &event) {
                        return Some(sight);
                    },
                    Seen::Missed(count) => return Some(Sight::missed(self.now(), count)),
                },
                told = self.notifications.next() => return Some(Sight::notification(self.now(), &told?)),
                () = due(&mut self.pings) => {
                    let ping = self.talk.client.ping().timeout(PING);
                    // Its outcome arrives as an event like everything else.
                    tokio::spawn(async move { drop(ping.await) });
                }
                _ = self.ticks.tick() => {
                    let status = self.talk.client.status().await?;
                    if let Some(sight) = Sight::status(&status, &mut self.last) {
                        return Some(sight);
                    }
                }
            }
        }
    }
}

async fn due(ticks: &mut Option<Interval>) {
    match ticks {
        Some(ticks) => _ = ticks.tick().await,
        None => std::future::pending().await,
    }
}

async fn over(ends: Option<Instant>) {
    match ends {
        Some(ends) => sleep_until(ends).await,
        None => std::future::pending().await,
    }
}

/// How often a server without a standing stream is pinged.
const PING: Duration = Duration::from_secs(5);
/// How often the status is looked at.
const TICK: Duration = Duration::from_millis(500);
