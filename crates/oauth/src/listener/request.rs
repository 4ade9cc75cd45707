//! A request as the listener reads it, and the fixed texts of its answers.

use std::time::Duration;

use ridethrough_oauth_core::login::CallbackOutcome;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The head of a request.
pub(super) struct Request {
    pub(super) method: String,
    pub(super) target: String,
    /// The `Host` header, if it occurs exactly once.
    pub(super) host: Option<String>,
}

/// Reads the head of a request; `None` if the peer leaves or is slow. The inner option is `None` if the head
/// is too long or not a valid request.
pub(super) async fn read(mut stream: TcpStream) -> Option<(TcpStream, Option<Request>)> {
    let reading = async {
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            if head.len() > LONGEST {
                return Some(None);
            }
            if stream.read_buf(&mut head).await.ok()? == 0 {
                return None;
            }
        }
        Some(parse(&head))
    };
    let request = timeout(TIME, reading).await.ok()??;
    Some((stream, request))
}

/// Parses a complete head.
pub(super) fn parse(head: &[u8]) -> Option<Request> {
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.split("\r\n");
    let mut line = lines.next()?.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (line.next(), line.next(), line.next(), line.next())
    else {
        return None;
    };
    if !version.starts_with("HTTP/1.") {
        return None;
    }
    let mut hosts = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim().to_owned())
    });
    let host = hosts.next().filter(|_| hosts.next().is_none());
    Some(Request { method: method.to_owned(), target: target.to_owned(), host })
}

/// The text that the browser shows.
#[derive(Clone, Copy)]
pub(super) enum Reply {
    Done,
    Failed,
    NotOurs,
}

impl Reply {
    pub(super) const fn to(outcome: Option<&CallbackOutcome>) -> Self {
        match outcome {
            Some(CallbackOutcome::Code(_)) => Self::Done,
            Some(CallbackOutcome::Failed(_)) => Self::Failed,
            Some(CallbackOutcome::Ignored(_)) | None => Self::NotOurs,
        }
    }

    const fn parts(self) -> (&'static str, &'static str) {
        match self {
            Self::Done => ("200 OK", "The login has arrived. You can close this window.\n"),
            Self::Failed => {
                ("200 OK", "The login did not succeed. Go back to the program to see why.\n")
            }
            Self::NotOurs => ("400 Bad Request", "This is not the end of a login.\n"),
        }
    }
}

/// Answers, and closes. A failure does not matter to the login.
pub(super) async fn reply(mut stream: TcpStream, reply: Reply) {
    let (status, text) = reply.parts();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
         Content-Security-Policy: default-src 'none'\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
    let writing = async {
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
    };
    let _ = timeout(TIME, writing).await;
}

const TIME: Duration = Duration::from_secs(5);
/// The most bytes of a head. A code may be a JWT; a longer head does not come from a browser.
const LONGEST: usize = 80 * 1024;
