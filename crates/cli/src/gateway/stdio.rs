//! `ridethrough gateway --stdio`: the gateway for a host that starts processes, as one conversation on stdin
//! and stdout.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use ridethrough_gateway::Gateway;
use ridethrough_server::{Backend, Caller, Conversation, Letter, ParsedMessage, Principal, Said};
use ridethrough_wire::line_buffer::{LineBuffer, is_blank};
use ridethrough_wire::message::{Answer, HostMessage, Id, Json, Message};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Serves a host until it leaves. Answers to what it still waits for have a moment to come.
pub(super) async fn serve(
    gateway: &Gateway,
    reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let caller = Caller::new(Principal::owner(), "");
    let opened = gateway.open(&caller).await.map_err(|it| io::Error::other(it.what))?;
    let Conversation { outbox, inbox, open, .. } = opened;
    let mut inbox = inbox.fuse();
    // Kept after the host's end, so that the conversation goes on and answers.
    let mut kept_open = None;
    let (refuse, mut refusals) = mpsc::channel(1);
    let mut waiting = 0_usize;
    let (count, mut counts) = mpsc::unbounded_channel();
    let reading = read(reader, outbox, refuse, count);
    tokio::pin!(reading);
    let mut is_reading = true;
    loop {
        let said = tokio::select! {
            biased;
            Some(more) = counts.recv() => {
                waiting += more;
                continue;
            }
            said = inbox.next() => match said {
                Some(Said::Message { message, .. }) => message,
                Some(Said::Unreadable { .. }) => continue,
                Some(Said::Ended(_)) | None => break,
            },
            // It answers no request that is counted.
            Some(refusal) = refusals.recv() => {
                write(&mut writer, &refusal).await?;
                if !is_reading && waiting == 0 && counts.is_empty() && refusals.is_empty() {
                    break;
                }
                continue;
            }
            outbox = &mut reading, if is_reading => {
                is_reading = false;
                kept_open = Some(outbox);
                if waiting == 0 && counts.is_empty() && refusals.is_empty() {
                    break;
                }
                continue;
            }
            () = tokio::time::sleep(LAST_ANSWERS), if !is_reading => break,
        };
        if matches!(said.message, Message::Response { .. }) {
            waiting = waiting.saturating_sub(1);
        }
        write(&mut writer, &said).await?;
        if !is_reading && waiting == 0 && refusals.is_empty() {
            break;
        }
    }
    drop((open, kept_open));
    // The backend bounds how long its end takes.
    let _ = timeout(FAREWELL, async { while inbox.next().await.is_some() {} }).await;
    Ok(())
}

/// Reads lines until the host closes its end. What stands before the end is a line, too. Returns what keeps the
/// conversation open.
async fn read(
    mut reader: impl AsyncRead + Unpin,
    outbox: mpsc::Sender<Letter>,
    refuse: mpsc::Sender<ParsedMessage>,
    count: mpsc::UnboundedSender<usize>,
) -> mpsc::Sender<Letter> {
    let mut buffer = LineBuffer::default();
    let mut has_ended = false;
    loop {
        while let Some(line) = next_line(&mut buffer, has_ended) {
            let (letter, refusals) = letter(&line);
            for refusal in refusals {
                // The host that would read it may be gone.
                let _ = refuse.send(refusal).await;
            }
            let is_call = |it: &&ParsedMessage| matches!(it.message, Message::Request { .. });
            let _ = count.send(letter.iter().filter(is_call).count());
            if !letter.is_empty() && outbox.send(letter).await.is_err() {
                return outbox;
            }
        }
        if has_ended || buffer.held().len() > MOST_LINE {
            return outbox;
        }
        has_ended = !matches!(reader.read_buf(buffer.room()).await, Ok(1..));
    }
}

/// Takes out the next line that is not blank; at the end, also one without its end.
fn next_line(buffer: &mut LineBuffer, has_ended: bool) -> Option<Bytes> {
    while let Some(line) = buffer.cut_alone() {
        if !is_blank(&line) {
            return Some(line);
        }
    }
    let rest = if has_ended { buffer.take().freeze() } else { Bytes::new() };
    (!is_blank(&rest)).then_some(rest)
}

/// The messages of a line, one or a batch, and the answers to what is none.
fn letter(line: &Bytes) -> (Letter, Vec<ParsedMessage>) {
    let (mut letter, mut refusals) = (Letter::new(), Vec::new());
    for read in HostMessage::read(line) {
        match read {
            HostMessage::Fit { message, text } => letter.push(ParsedMessage { message, text }),
            HostMessage::Unfit { id, answer } => refusals.push(refused(id.as_ref(), &answer)),
        }
    }
    (letter, refusals)
}

/// An error for what is no message, under the id that it names, if it names one.
fn refused(id: Option<&Json>, answer: &Answer) -> ParsedMessage {
    let mut message = ParsedMessage::response(&Id::of_number(0), answer);
    let (id, error) = (id.map_or("null", Json::as_str), answer.json().as_str());
    message.text = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into();
    message
}

async fn write(writer: &mut (impl AsyncWrite + Unpin), said: &ParsedMessage) -> io::Result<()> {
    writer.write_all(&said.text).await?;
    writer.write_all(b"\n").await?;
    writer.flush().await
}

/// How long a host that has closed its end is still answered.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
const FAREWELL: Duration = Duration::from_secs(12);
const MOST_LINE: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_stands_before_the_end_is_a_line_and_what_is_no_message_is_answered() {
        let text =
            b"{\"id\":1,\"method\":\"ping\"}\n{\"id\":2}\n\n[]\n{\"id\":3,\"method\":\"ping\"}";
        let (outbox, mut letters) = mpsc::channel(9);
        let (refuse, mut refusals) = mpsc::channel(9);
        let (count, mut counts) = mpsc::unbounded_channel();

        drop(read(&text[..], outbox, refuse, count).await);

        let mut ids = Vec::new();
        while let Some(letter) = letters.recv().await {
            ids.extend(letter.iter().filter_map(|it| match &it.message {
                Message::Request { id, .. } => Some(id.json().as_str().to_owned()),
                _ => None,
            }));
        }
        assert_eq!(ids, ["1", "3"]);
        let mut refused = Vec::new();
        while let Some(refusal) = refusals.recv().await {
            refused.push(String::from_utf8_lossy(&refusal.text[..24]).into_owned());
        }
        assert_eq!(refused, [r#"{"jsonrpc":"2.0","id":2,"#, r#"{"jsonrpc":"2.0","id":nu"#]);
        assert_eq!(std::iter::from_fn(|| counts.try_recv().ok()).sum::<usize>(), 2);
    }
}
