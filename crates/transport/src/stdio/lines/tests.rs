//! Every fault of a stream of lines, in memory.

use std::time::Duration;

use ridethrough_lab::{Pipe, pipe};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;

#[tokio::test(start_paused = true)]
async fn lines_are_cut_wherever_the_bytes_were_cut() {
    let text = b"{\"a\":1}\r\n\n  \r\n{\"b\":\r2}\nlast";
    for size in 1..text.len() {
        let (mut there, here) = pipe(1024);
        let mut lines = Lines::new(here, 100);
        let writing = async {
            for piece in text.chunks(size) {
                there.write_all(piece).await.unwrap();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            drop(there);
        };
        let reading = async {
            let mut heard = Vec::new();
            while let Ok(line) = lines.next().await {
                heard.push(line);
            }
            heard
        };

        let ((), heard) = tokio::join!(writing, reading);

        assert_eq!(heard, [&b"{\"a\":1}"[..], b"{\"b\": 2}", b"last"], "in pieces of {size}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_of_the_limit_is_read_and_a_longer_one_is_not() {
    for (length, end, expected) in [
        (10, "\n", Ok(Bytes::from("x".repeat(10)))),
        (10, "\r\n", Ok(Bytes::from("x".repeat(10)))),
        (11, "\n", Err(NoLine::TooLong(None))),
        (11, "\r\n", Err(NoLine::TooLong(None))),
        (100, "", Err(NoLine::WithoutEnd)),
    ] {
        let (mut there, here) = pipe(1024);
        let mut lines = Lines::new(here, 10);

        there.write_all(format!("{}{end}", "x".repeat(length)).as_bytes()).await.unwrap();

        assert_eq!(lines.next().await, expected, "{length} bytes and {end:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_without_an_end_is_given_up_before_it_fills_the_memory() {
    let (mut there, here) = pipe(1024);
    let mut lines = Lines::new(here, 64 * 1024);
    let flood = tokio::spawn(async move { while there.write_all(&[b'x'; 1024]).await.is_ok() {} });

    let end = lines.next().await;

    assert_eq!(end, Err(NoLine::WithoutEnd));
    assert!(
        lines.buffer.room().capacity() <= 3 * 64 * 1024,
        "{} bytes",
        lines.buffer.room().capacity()
    );
    flood.abort();
}

#[tokio::test(start_paused = true)]
async fn behind_a_line_that_is_too_long_the_next_one_is_read() {
    let long = format!("{{\"result\":\"{}\",\"id\":7}}", "x".repeat(300));
    for size in [1, 10, 50, 51, 1000] {
        let (mut there, here) = pipe(100_000);
        let mut lines = Lines::new(here, 50);
        let text = format!("{long}\r\n{{\"id\":8}}\n");
        let writing = async {
            for piece in text.as_bytes().chunks(size) {
                there.write_all(piece).await.unwrap();
                settle().await;
            }
        };

        let (found, ()) = tokio::join!(lines.next(), writing);

        assert_eq!(found, Err(NoLine::TooLong(Some(7))), "in pieces of {size}");
        assert_eq!(lines.next().await.unwrap(), &b"{\"id\":8}"[..], "in pieces of {size}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_within_a_line_that_is_too_long_has_ended() {
    let (mut there, here) = pipe(1024);
    let mut lines = Lines::new(here, 10);
    there.write_all(&[b'x'; 40]).await.unwrap();

    drop(there);

    assert_eq!(lines.next().await, Err(NoLine::End));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_within_a_line_gives_no_line() {
    let (mut there, here) = pipe(1024);
    let mut lines = Lines::new(here, 100);

    there.write_all(b"{\"half\":").await.unwrap();
    there.control().reset();

    assert_eq!(lines.next().await, Err(NoLine::End));
}

#[tokio::test(start_paused = true)]
async fn a_message_laid_out_in_lines_is_written_on_one() {
    let (mut there, _, outbox) = writer(1024);

    send(&outbox, b"{\r\n  \"a\": \"x\\ny\"\n}").await.outcome().await.unwrap();

    let mut lines = Lines::new(&mut there, 100);
    assert_eq!(lines.next().await.unwrap(), &b"{    \"a\": \"x\\ny\" }"[..]);
}

#[tokio::test(start_paused = true)]
async fn messages_that_are_written_at_once_never_mix() {
    let (mut there, _, outbox) = writer(7);
    let messages: Vec<String> =
        (0..50).map(|n| format!("{{{}}}", n.to_string().repeat(9))).collect();
    let sending = messages.iter().map(|message| async {
        send(&outbox, message.as_bytes()).await.outcome().await.unwrap();
    });
    let reading = async {
        let mut lines = Lines::new(&mut there, 100);
        let mut heard = Vec::new();
        while heard.len() < 50 {
            heard.push(String::from_utf8(lines.next().await.unwrap().to_vec()).unwrap());
        }
        heard
    };

    let (_, heard) = tokio::join!(futures_util::future::join_all(sending), reading);

    assert_eq!(heard, messages);
}

#[tokio::test(start_paused = true)]
async fn a_message_of_which_the_last_byte_was_not_written_was_certainly_not_sent() {
    // How many of the eight bytes of `{"id":1}` fit into the pipe before it breaks.
    for (room, expected) in [(1, Unsent::Certainly), (7, Unsent::Certainly), (8, Unsent::Perhaps)] {
        let (there, _, outbox) = writer(room);
        let receipt = send(&outbox, b"{\"id\":1}").await;
        settle().await;

        drop(there);

        assert_eq!(receipt.outcome().await, Err(expected), "with room for {room} bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_behind_one_that_broke_the_pipe_was_certainly_not_sent() {
    let (there, _, outbox) = writer(4);
    let _stuck = send(&outbox, b"{\"id\":1}").await;
    settle().await;
    let waiting = send(&outbox, b"{\"id\":2}").await;

    drop(there);

    assert_eq!(waiting.outcome().await, Err(Unsent::Certainly));
    let late = send(&outbox, b"{\"id\":3}").await;
    assert_eq!(late.outcome().await, Err(Unsent::Certainly));
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_is_stopped_in_a_message_leaves_it_certainly_unsent() {
    let (_there, writing, outbox) = writer(4);
    let receipt = send(&outbox, b"{\"id\":1}").await;
    settle().await;

    writing.abort();

    assert_eq!(receipt.outcome().await, Err(Unsent::Certainly));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_cancelled_in_the_middle_is_written_to_its_end() {
    let (mut there, _, outbox) = writer(4);
    let cancelled = send(&outbox, b"{\"id\":1}").await;
    settle().await;
    drop(cancelled);
    let next = send(&outbox, b"{\"id\":2}").await;

    let mut lines = Lines::new(&mut there, 100);

    assert_eq!(lines.next().await.unwrap(), &b"{\"id\":1}"[..]);
    assert_eq!(lines.next().await.unwrap(), &b"{\"id\":2}"[..]);
    next.outcome().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_cancelled_before_it_was_begun_is_never_written() {
    let (mut there, _, outbox) = writer(4);
    let first = send(&outbox, b"{\"id\":1}").await;
    settle().await;
    let cancelled = send(&outbox, b"{\"id\":2}").await;
    drop(cancelled);
    let mut lines = Lines::new(&mut there, 100);
    assert_eq!(lines.next().await.unwrap(), &b"{\"id\":1}"[..]);
    first.outcome().await.unwrap();

    drop(outbox);

    assert_eq!(lines.next().await, Err(NoLine::End));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_never_reads_holds_up_nobody_who_gives_up() {
    let (_there, _, outbox) = writer(4);
    let _stuck = send(&outbox, b"{\"id\":1}").await;
    let _queued = send(&outbox, b"{\"id\":2}").await;

    let sending = timeout(Duration::from_secs(60), send(&outbox, b"{\"id\":3}")).await;

    assert!(sending.is_err(), "the queue has no bound");
}

type Writing = JoinHandle<io::Result<()>>;

fn writer(room: usize) -> (Pipe, Writing, mpsc::Sender<OutgoingLine>) {
    let (here, there) = pipe(room);
    let (outbox, letters) = mpsc::channel(1);
    (there, tokio::spawn(write_letters(here, letters)), outbox)
}

async fn send(outbox: &mpsc::Sender<OutgoingLine>, message: &[u8]) -> Receipt {
    let (letter, receipt) = letter(&Bytes::copy_from_slice(message));
    // Without a writer the line is dropped, and its receipt reports that.
    let _ = outbox.send(letter).await;
    receipt
}

/// Lets the writer get as far as it can.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
