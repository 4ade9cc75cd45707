//! The doors of the program: each is started as people start it, and takes what a host writes.
//!
//! A door speaks lines (`bridge`, `gateway --stdio`) or HTTP (`gateway`, `expose`). What it says comes out as
//! the texts of messages, in the order of their arrival.

mod http;
mod lines;
mod program;

use std::path::PathBuf;

use anyhow::Result;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::backend::Era;
use http::HttpHost;
pub(crate) use http::StandingDoor;
use lines::LineHost;
pub(crate) use program::Program;

/// One way into the program under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Door {
    Bridge,
    Expose,
    Gateway,
    GatewayStdio,
}

/// A door with a server behind it: a column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The era of the server behind the door.
    pub(crate) behind: Era,
    pub(crate) door: Door,
}

/// A host at a door.
pub(crate) struct Host {
    kind: Kind,
    heard: mpsc::UnboundedReceiver<String>,
}

enum Kind {
    Http(Box<HttpHost>),
    Lines(Box<LineHost>),
}

/// What a door needs to be opened.
pub(crate) struct Opening<'a> {
    pub(crate) program: &'a PathBuf,
    /// A folder of its own.
    pub(crate) home: PathBuf,
    /// The address of the server behind the door.
    pub(crate) upstream: String,
    /// The revision that the host names in headers.
    pub(crate) revision: &'a str,
}

impl Place {
    /// All places; `expose` has a process behind it, and such processes have sessions.
    pub(crate) const ALL: [Self; 7] = [
        Self::new(Era::Sessions, Door::Bridge),
        Self::new(Era::Sessions, Door::GatewayStdio),
        Self::new(Era::Sessions, Door::Gateway),
        Self::new(Era::Sessions, Door::Expose),
        Self::new(Era::Stateless, Door::Bridge),
        Self::new(Era::Stateless, Door::GatewayStdio),
        Self::new(Era::Stateless, Door::Gateway),
    ];

    const fn new(behind: Era, door: Door) -> Self {
        Self { behind, door }
    }

    /// Returns the name that rows of differences use.
    pub(crate) const fn name(self) -> &'static str {
        match (self.behind, self.door) {
            (Era::Sessions, Door::Bridge) => "bridge",
            (Era::Sessions, Door::Expose) => "expose",
            (Era::Sessions, Door::Gateway) => "gateway",
            (Era::Sessions, Door::GatewayStdio) => "gateway --stdio",
            (Era::Stateless, Door::Bridge) => "bridge, stateless",
            (Era::Stateless, Door::Expose) => "expose, stateless",
            (Era::Stateless, Door::Gateway) => "gateway, stateless",
            (Era::Stateless, Door::GatewayStdio) => "gateway --stdio, stateless",
        }
    }
}

impl Host {
    /// Opens a door, or comes to one that stands open.
    pub(crate) async fn open(
        door: Door,
        opening: Opening<'_>,
        standing: Option<StandingDoor>,
    ) -> Result<Self> {
        let (say, heard) = mpsc::unbounded_channel();
        let kind = match door {
            Door::Bridge | Door::GatewayStdio => {
                Kind::Lines(Box::new(LineHost::open(door, &opening, say)?))
            }
            Door::Expose | Door::Gateway => {
                let standing = match standing {
                    Some(standing) => standing,
                    None => StandingDoor::open(door, &opening).await?,
                };
                Kind::Http(Box::new(HttpHost::at(standing, opening.revision, say)))
            }
        };
        Ok(Self { kind, heard })
    }

    /// Writes a message. What is no request has been taken when this returns.
    pub(crate) async fn write(&mut self, line: &[u8]) -> Result<()> {
        match &mut self.kind {
            Kind::Http(host) => host.write(line).await,
            Kind::Lines(host) => host.write(line, b"\n").await,
        }
    }

    /// Writes a message without the end of its line.
    pub(crate) async fn write_last(&mut self, line: &[u8]) -> Result<()> {
        match &mut self.kind {
            Kind::Http(host) => host.write(line).await,
            Kind::Lines(host) => host.write(line, b"").await,
        }
    }

    /// Closes the host's end. Over HTTP, that is the end of the last answer.
    pub(crate) async fn finish(&mut self) -> Result<()> {
        match &mut self.kind {
            Kind::Http(host) => host.finish().await,
            Kind::Lines(host) => {
                host.close();
                Ok(())
            }
        }
    }

    /// Takes a request back: by a notification, or, where the stateless era is spoken over HTTP, by leaving.
    pub(crate) async fn cancel(&mut self, id: &str, is_stateless: bool) -> Result<()> {
        if let (Kind::Http(host), true) = (&mut self.kind, is_stateless) {
            return host.leave(id).await;
        }
        let method = "notifications/cancelled";
        let line =
            format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"requestId":{id}}}}}"#);
        self.write(line.as_bytes()).await
    }

    /// Waits for the next message; `None` when no more can come.
    pub(crate) async fn next(&mut self) -> Option<String> {
        self.heard.recv().await
    }

    /// Whether the host has a session, or needs none: a call would be passed on.
    pub(crate) fn can_call(&self, is_stateless: bool) -> bool {
        match &self.kind {
            Kind::Http(host) => is_stateless || host.has_session(),
            Kind::Lines(host) => host.is_open(),
        }
    }

    /// Leaves. A program that was started for one host ends with it; another stays open.
    pub(crate) async fn end(self) -> Result<Option<StandingDoor>> {
        match self.kind {
            Kind::Http(host) => Ok(Some(host.end().await?)),
            Kind::Lines(host) => {
                host.end().await?;
                Ok(None)
            }
        }
    }
}

/// Returns what an id means, in one spelling: `"a\/b"` is `"a/b"`, and 1.0 is 1.
pub(crate) fn meaning(id: &Value) -> String {
    match id.as_f64() {
        Some(number) if number.fract() == 0.0 => format!("{number:.0}"),
        _ => id.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_means_one_thing_however_it_is_spelled() {
        let read = |text: &str| meaning(&serde_json::from_str(text).unwrap());

        assert_eq!(read(r#""a\/b""#), read(r#""a/b""#));
        assert_eq!(read("1.0"), read("1"));
        assert_ne!(read("1.5"), read("1"));
        assert_ne!(meaning(&json!("1")), meaning(&json!(1)));
    }
}
