//! Asks every bridge and gateway that runs, all at once.

use std::io;
use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use ridethrough_bridge::harmless;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::socket::{self, ASK, GatewayReply, StatusReply};

/// A bridge or gateway that was found.
#[derive(Debug)]
pub(super) enum StatusSeen {
    /// The reply of a bridge, parsed and as it came.
    Bridge(Box<StatusReply>, Value),
    /// The reply of a gateway, parsed and as it came.
    Gateway(Box<GatewayReply>, Value),
    /// It runs, and does not answer.
    Silent { pid: u32 },
}

impl StatusSeen {
    fn pid(&self) -> u32 {
        match self {
            Self::Bridge(told, _) => told.pid,
            Self::Gateway(told, _) => told.pid,
            Self::Silent { pid } => *pid,
        }
    }
}

/// Returns every bridge and gateway of this user, in the order of their process numbers.
pub(super) async fn all() -> Vec<StatusSeen> {
    let places = socket::places();
    let sockets = places.iter().flat_map(|folder| socket::sockets(folder));
    let asked = sockets.map(|(pid, path)| async move { ask(pid, &path).await });
    let mut seen: Vec<_> = join_all(asked).await.into_iter().flatten().collect();
    seen.sort_by_key(StatusSeen::pid);
    seen
}

/// Returns a JSON array, on one line.
pub(super) fn json(seen: &[StatusSeen]) -> String {
    let all = seen.iter().map(|it| match it {
        StatusSeen::Silent { pid } => json!({"pid": pid, "state": "silent"}),
        StatusSeen::Bridge(_, told) | StatusSeen::Gateway(_, told) => told.clone(),
    });
    harmless(&Value::from_iter(all).to_string())
}

/// Asks one of them; `None` if it does not run any more.
async fn ask(pid: u32, path: &Path) -> Option<StatusSeen> {
    match timeout(PATIENCE, exchange(path)).await {
        Ok(Ok(answer)) if answer.is_empty() => None,
        Ok(Ok(answer)) => Some(read(pid, &answer)),
        Ok(Err(error)) if is_gone(&error) => None,
        Ok(Err(_)) | Err(_) => Some(StatusSeen::Silent { pid }),
    }
}

async fn exchange(path: &Path) -> io::Result<Vec<u8>> {
    let mut stream = socket::connect(path).await?;
    stream.write_all(ASK).await?;
    let mut answer = Vec::new();
    stream.take(LONGEST).read_to_end(&mut answer).await?;
    Ok(answer)
}

fn read(pid: u32, answer: &[u8]) -> StatusSeen {
    let seen = serde_json::from_slice::<Value>(answer).ok().and_then(|value| {
        Some(if value.get("gateway").is_some() {
            StatusSeen::Gateway(Box::new(GatewayReply::deserialize(&value).ok()?), value)
        } else {
            StatusSeen::Bridge(Box::new(StatusReply::deserialize(&value).ok()?), value)
        })
    });
    seen.unwrap_or(StatusSeen::Silent { pid })
}

/// Whether it was killed, or is about to end.
fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound};
    matches!(error.kind(), BrokenPipe | ConnectionRefused | ConnectionReset | NotFound)
}

const PATIENCE: Duration = Duration::from_secs(1);
const LONGEST: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_bridge_says_is_passed_on_whole_and_what_is_no_answer_is_silence() {
        let told = read(7, br#"{"pid":7,"state":"ready","novelty":[1]}"#);
        let nonsense = read(8, b"{}x");

        let array = json(&[told, nonsense]);

        assert_eq!(
            array,
            r#"[{"novelty":[1],"pid":7,"state":"ready"},{"pid":8,"state":"silent"}]"#
        );
        assert_eq!(json(&[]), "[]");
    }
}
