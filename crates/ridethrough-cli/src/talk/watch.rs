//! `ridethrough watch`: stays connected, and tells events, notifications and changes of status.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use ridethrough::model::LogLevel;
use ridethrough::{Events, Moment, Notifications, Seen};
use tokio::time::{Instant, Interval, interval, sleep_until};

use super::questions::{Asking, Flags};
use super::{Common, Talk, safe, talk_asked};
use crate::exit::Exit;
use crate::options::seconds;
use sight::{Sight, Standing};

mod sight;

/// What `watch` is asked for.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// Stop after so many seconds [default: when stopped by Ctrl-C]
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds)]
    time: Option<Duration>,
    /// Ask the server for its log, from this level on
    #[arg(long, value_name = "LEVEL")]
    log: Option<Level>,
}

/// How much a message of the log must matter: the levels of RFC 5424, the least first.
#[derive(Clone, Copy, ValueEnum)]
enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

pub(super) fn play(args: &Args) -> Result<ExitCode> {
    talk_asked(&args.common, &Flags::default(), Asking::Never, async |talk| args.watch(talk).await)
}

impl Args {
    async fn watch(&self, talk: &Talk) -> Result<Exit> {
        let (events, notifications) = (talk.client.events(), talk.client.notifications());
        let server = talk.client.connect().await?;
        // From here on everything is told on stdout.
        talk.teller.abort();
        talk.client.keep_connected();
        talk.desk.clear();
        let name = server.name().unwrap_or_else(|| "a server without a name".to_owned());
        talk.desk.say(&format!("watching {}; Ctrl-C stops", safe::line(&name)));
        if let Some(level) = self.log {
            talk.timed(talk.client.set_log_level(level.into())).await?;
        }
        let mut lookout =
            Lookout { talk, events, notifications, ticks: interval(TICK), last: None };
        let ends = self.time.map(|time| Instant::now() + time);
        tokio::select! {
            told = lookout.tell_all() => told?,
            () = over(ends) => {}
        }
        Ok(Exit::Done)
    }
}

/// Everything that there is to see.
struct Lookout<'a> {
    talk: &'a Talk,
    events: Events,
    notifications: Notifications,
    ticks: Interval,
    /// The status that was told last.
    last: Option<Standing>,
}

impl Lookout<'_> {
    /// Tells what is seen until there is no more, or nobody reads it any more.
    async fn tell_all(&mut self) -> io::Result<()> {
        while let Some(sight) = self.next().await {
            let line = match self.talk.is_json {
                true => safe::json(&sight.json()),
                false => sight.line(),
            };
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

    async fn next(&mut self) -> Option<Sight> {
        loop {
            tokio::select! {
                seen = self.events.next() => return Some(match seen? {
                    Seen::Event { at, event } => Sight::event(at, &event),
                    Seen::Missed(count) => Sight::missed(self.now(), count),
                }),
                told = self.notifications.next() => return Some(Sight::notification(self.now(), &told?)),
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

async fn over(ends: Option<Instant>) {
    match ends {
        Some(ends) => sleep_until(ends).await,
        None => std::future::pending().await,
    }
}

impl From<Level> for LogLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Debug => Self::Debug,
            Level::Info => Self::Info,
            Level::Notice => Self::Notice,
            Level::Warning => Self::Warning,
            Level::Error => Self::Error,
            Level::Critical => Self::Critical,
            Level::Alert => Self::Alert,
            Level::Emergency => Self::Emergency,
        }
    }
}

/// How soon a change of status is seen.
const TICK: Duration = Duration::from_millis(500);
