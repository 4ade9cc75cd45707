//! `ridethrough gateway --stdio`: the gateway for a host that starts processes, as one conversation on stdin
//! and stdout.

use std::io;
use std::time::Duration;

use futures_util::StreamExt;
use ridethrough_core::line_buffer::{LineBuffer, is_blank};
use ridethrough_core::message::{Answer, Elements, Id, Json, Message, code};
use ridethrough_gateway::Gateway;
use ridethrough_server::{Backend, Caller, Conversation, Letter, ParsedMessage, Principal, Said};
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
                continue;
            }
            outbox = &mut reading, if is_reading => {
                is_reading = false;
                kept_open = Some(outbox);
                if waiting == 0 && counts.is_empty() {
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
        if !is_reading && waiting == 0 {
            break;
        }
    }
    drop((open, kept_open));
    // The backend bounds how long its end takes.
    let _ = timeout(FAREWELL, async { while inbox.next().await.is_some() {} }).await;
    Ok(())
}

/// Reads lines until the host closes its end. Returns what keeps the conversation open.
async fn read(
    mut reader: impl AsyncRead + Unpin,
    outbox: mpsc::Sender<Letter>,
    refuse: mpsc::Sender<ParsedMessage>,
    count: mpsc::UnboundedSender<usize>,
) -> mpsc::Sender<Letter> {
    let mut buffer = LineBuffer::default();
    loop {
        while let Some(line) = buffer.cut_alone() {
            if is_blank(&line) {
                continue;
            }
            let Some(letter) = letter(&line) else {
                let answer = Answer::refusal(
                    code::PARSE_ERROR,
                    "the line is no JSON-RPC message, or has a member twice",
                );
                // Nobody waits for it when the host is gone.
                let _ = refuse.send(unread(&answer)).await;
                continue;
            };
            let is_call = |it: &&ParsedMessage| matches!(it.message, Message::Request { .. });
            let _ = count.send(letter.iter().filter(is_call).count());
            if outbox.send(letter).await.is_err() {
                return outbox;
            }
        }
        if buffer.held().len() > MOST_LINE {
            return outbox;
        }
        match reader.read_buf(buffer.room()).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => return outbox,
        }
    }
}

/// The messages of a line: one, or a batch.
fn letter(line: &bytes::Bytes) -> Option<Letter> {
    let Some(elements) = Elements::of(line) else {
        let json = Json::new(line.clone()).ok()?;
        let message = ParsedMessage::read(&json).ok()?.only_if_clear(&json);
        return message.ok().map(|it| vec![it]);
    };
    let read = elements.map(|it| {
        let json = it.ok()?;
        ParsedMessage::read_alone(&json).ok()?.only_if_clear(&json).ok()
    });
    read.collect::<Option<Letter>>().filter(|letter| !letter.is_empty())
}

/// An error that answers no request that could be read.
fn unread(answer: &Answer) -> ParsedMessage {
    let mut message = ParsedMessage::response(&Id::of_number(0), answer);
    let text = format!(r#"{{"jsonrpc":"2.0","id":null,"error":{}}}"#, answer.json().as_str());
    message.text = text.into();
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
