//! The backend over lines: a program that `expose` starts for each of its sessions.

use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, stdin, stdout};
use tokio::sync::mpsc;

use super::room::Room;
use super::{Asked, Envelope, Era, answer, error, response};

/// Serves one host on stdin and stdout until it closes its end.
pub(crate) async fn serve() -> std::io::Result<()> {
    // `expose` cannot hide a tool, so this server does.
    let room = Room::new(Era::Sessions).without_secret();
    let (out, mut written) = mpsc::unbounded_channel::<String>();
    room.listen(PEER, out.clone());
    let writing = tokio::spawn(async move {
        let mut stdout = stdout();
        while let Some(line) = written.recv().await {
            stdout.write_all(format!("{line}\n").as_bytes()).await?;
            stdout.flush().await?;
        }
        Ok(())
    });
    let mut lines = BufReader::new(stdin()).split(b'\n');
    while let Some(line) = lines.next_segment().await? {
        take(&room, &String::from_utf8_lossy(&line), &out);
    }
    drop((room, out));
    // Calls that are held would keep the writer.
    writing.abort();
    match writing.await {
        Ok(written) => written,
        Err(_) => Ok(()),
    }
}

fn take(room: &Arc<Room>, line: &str, out: &mpsc::UnboundedSender<String>) {
    let Ok(read) = serde_json::from_str::<Envelope<'_>>(line) else {
        let refusal = response("null", &Err(error(-32700, "no message").to_string()));
        // The writer ends with the program only.
        let _ = out.send(refusal);
        return;
    };
    let text = read.params.map_or("{}", |it| it.get()).to_owned();
    let params: Value = serde_json::from_str(&text).unwrap_or_default();
    match (read.method, read.id) {
        (Some(method), Some(id)) => {
            let id = id.get().to_owned();
            let peer = PEER.to_owned();
            let asked = Asked { peer, id, method, params, text, out: out.clone() };
            let room = room.clone();
            tokio::spawn(async move {
                let answer = answer(&room, &asked).await;
                // The writer ends with the program only.
                let _ = asked.out.send(response(&asked.id, &answer));
            });
        }
        (Some(method), None) if method == "notifications/cancelled" => {
            room.cancel(PEER, &params["requestId"].to_string());
        }
        (None, Some(id)) => room.answered(id.get(), read.result.unwrap_or_default()),
        _ => {}
    }
}

/// A program has one peer.
const PEER: &str = "host";
