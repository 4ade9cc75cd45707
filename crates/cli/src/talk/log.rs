//! The log of a server: how much of it is asked for, and how it is shown on stderr.

use anyhow::Result;
use ridethrough::Error;
use ridethrough::model::{LogLevel, LogMessage, Notification};

use super::Talk;
use crate::safe;

impl Talk {
    /// Asks the server for its log, and shows it for as long as the client lives. A server without a log is
    /// not an error.
    pub(super) async fn tell_log(&self, level: LogLevel) -> Result<()> {
        let (mut notifications, terminal) = (self.client.notifications(), self.terminal.clone());
        self.ask_for_log(level).await?;
        tokio::spawn(async move {
            while let Some(told) = notifications.next().await {
                if let Notification::Log(message) = told {
                    terminal.say(&words(&message));
                }
            }
        });
        Ok(())
    }

    /// Sets the level from which on the server sends its log.
    pub(super) async fn ask_for_log(&self, level: LogLevel) -> Result<()> {
        match self.timed(self.client.set_log_level(level)).await {
            Err(Error::Server(error)) => {
                let words = safe::line(&error.rpc.message);
                self.terminal
                    .say(&format!("warning: the server does not tell its log: it said `{words}`"));
                Ok(())
            }
            told => Ok(told?),
        }
    }
}

/// Returns a message on one line: `log warning (database): the disk is nearly full`.
fn words(message: &LogMessage) -> String {
    let logger = message.logger.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
    let data = message.data.string();
    let data = data.as_deref().unwrap_or(message.data.as_str());
    let level = message.json.member("level").and_then(|it| it.read::<String>());
    let level = level.as_deref().unwrap_or_default();
    format!("log {}", safe::line(&format!("{level}{logger}: {data}")))
}
