//! Every end that a pipe can have, seen from both sides.

use std::io::ErrorKind;

use futures_util::FutureExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

#[tokio::test]
async fn what_was_written_before_a_drop_is_read_before_the_end() {
    let (mut here, mut there) = pipe(64);
    here.write_all(b"last words").await.unwrap();
    drop(here);

    let mut heard = Vec::new();
    there.read_to_end(&mut heard).await.unwrap();

    assert_eq!(heard, b"last words");
}

#[tokio::test]
async fn writes_fail_once_the_other_end_is_dropped() {
    let (here, mut there) = pipe(64);
    drop(here);

    let error = there.write_all(b"anyone?").await.unwrap_err();

    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn an_end_that_was_only_shut_down_can_still_be_written_to() {
    let (mut here, mut there) = pipe(64);
    here.shutdown().await.unwrap();

    there.write_all(b"still").await.unwrap();

    let mut heard = [0; 5];
    here.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"still");
    assert_eq!(there.read(&mut heard).await.unwrap(), 0);
}

#[tokio::test]
async fn a_reset_loses_unread_bytes_and_fails_reads_and_writes_of_both_ends() {
    let (mut here, mut there) = pipe(64);
    here.write_all(b"lost").await.unwrap();

    here.control().reset();

    for end in [&mut here, &mut there] {
        assert_eq!(end.read_u8().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert_eq!(end.write_u8(1).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
}

#[tokio::test]
async fn a_reset_wakes_a_reader_that_waits() {
    let (mut here, there) = pipe(64);
    let control = there.control();
    let reader = tokio::spawn(async move { here.read_u8().await });
    tokio::task::yield_now().await;

    control.reset();

    assert_eq!(reader.await.unwrap().unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_stalled_pipe_swallows_writes_and_lets_nothing_arrive() {
    let (mut here, mut there) = pipe(4);
    here.write_all(b"soon").await.unwrap();

    there.control().stall();

    here.write_all(b"more than it could hold").await.unwrap();
    assert!(there.read_u8().now_or_never().is_none());
    drop(here);
    assert!(there.read_u8().now_or_never().is_none(), "a FIN arrived");
    there.control().reset();
    assert!(there.read_u8().now_or_never().is_none(), "a reset arrived");
}

#[tokio::test]
async fn a_full_pipe_makes_the_writer_wait_for_the_reader() {
    let (mut here, mut there) = pipe(4);
    let writer = tokio::spawn(async move { here.write_all(b"12345678").await });
    tokio::task::yield_now().await;
    assert!(!writer.is_finished());

    let mut heard = [0; 8];
    there.read_exact(&mut heard).await.unwrap();

    assert_eq!(&heard, b"12345678");
    writer.await.unwrap().unwrap();
}

#[tokio::test]
async fn bytes_that_wrap_around_keep_their_order() {
    let (mut here, mut there) = pipe(8);
    let mut heard = [0; 6];
    for round in 0..20 {
        here.write_all(&[round; 3]).await.unwrap();
        here.write_all(&[round + 100; 3]).await.unwrap();

        there.read_exact(&mut heard).await.unwrap();

        let (first, second) = (round, round + 100);
        assert_eq!(heard, [first, first, first, second, second, second]);
    }
}

#[tokio::test]
async fn an_end_is_quiet_until_bytes_a_fin_or_a_reset_wait_on_it() {
    let fresh = || pipe(64);

    let (mut here, there) = fresh();
    assert!(there.peek().is_quiet());
    here.write_u8(1).await.unwrap();
    assert!(!there.peek().is_quiet(), "a byte waits");
    assert!(here.peek().is_quiet(), "the other way nothing was sent");

    let (here, there) = fresh();
    drop(here);
    assert!(!there.peek().is_quiet(), "a FIN waits");

    let (here, there) = fresh();
    here.control().reset();
    assert!(!there.peek().is_quiet(), "a reset waits");

    let (mut here, there) = fresh();
    here.write_u8(1).await.unwrap();
    here.control().stall();
    assert!(there.peek().is_quiet(), "nothing arrives through a black hole");
}
