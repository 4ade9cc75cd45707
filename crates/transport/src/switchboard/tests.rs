//! Where each line goes, and what is held until it is read.

use futures_util::FutureExt;
use ridethrough_core::Cause;

use super::*;

#[tokio::test]
async fn an_answer_goes_to_its_call_whose_stream_then_ends() {
    let board = Switchboard::new(1000);
    let mut first = board.await_answer(1).unwrap();
    let mut second = board.await_answer(2).unwrap();

    board.route(line(r#"{"id":2,"result":"b"}"#)).await.unwrap();
    board.route(line(r#"{"id":"1","error":{"code":1}}"#)).await.unwrap();

    assert_eq!(heard(&mut second.deliveries), [r#"{"id":2,"result":"b"}"#]);
    assert_eq!(heard(&mut first.deliveries), [r#"{"id":"1","error":{"code":1}}"#]);
    assert!(first.deliveries.is_closed() && second.deliveries.is_closed());
}

#[tokio::test]
async fn progress_stays_in_order_with_the_answer_of_its_call() {
    let board = Switchboard::new(1000);
    let mut call = board.await_answer(7).unwrap();
    let mut standing = board.listen().unwrap();
    let ours = r#"{"method":"notifications/progress","params":{"progressToken":7}}"#;
    let others = r#"{"method":"notifications/progress","params":{"progressToken":8}}"#;

    for text in [ours, others, ours, r#"{"id":7,"result":0}"#] {
        board.route(line(text)).await.unwrap();
    }

    assert_eq!(heard(&mut call.deliveries), [ours, ours, r#"{"id":7,"result":0}"#]);
    assert_eq!(heard(&mut standing), [others]);
}

#[tokio::test]
async fn everything_that_no_call_waits_for_goes_to_the_standing_stream() {
    let board = Switchboard::new(1000);
    let mut standing = board.listen().unwrap();
    let texts = [
        "Listening on stdio",
        r#"{"id":9,"result":"nobody asked"}"#,
        r#"{"id":1,"method":"roots/list"}"#,
        r#"{"method":"notifications/message"}"#,
    ];

    for text in texts {
        board.route(line(text)).await.unwrap();
    }

    assert_eq!(heard(&mut standing), texts);
}

#[tokio::test]
async fn a_batch_goes_to_a_call_that_it_answers() {
    let board = Switchboard::new(1000);
    let mut call = board.await_answer(3).unwrap();
    let batch = r#"[{"method":"x"},{"id":3,"result":0}]"#;

    board.route(line(batch)).await.unwrap();

    assert_eq!(heard(&mut call.deliveries), [batch]);
}

#[tokio::test]
async fn before_anybody_listens_old_notifications_are_dropped_and_questions_are_kept() {
    let board = Switchboard::new(100_000);
    board.route(line(r#"{"id":1,"method":"ping"}"#)).await.unwrap();
    for number in 0..1000 {
        board.route(line(&format!(r#"{{"method":"n{number}"}}"#))).await.unwrap();
    }

    let heard = heard(&mut board.listen().unwrap());

    assert_eq!(heard.len(), MOST_WAITING);
    assert_eq!(heard[0], r#"{"id":1,"method":"ping"}"#);
    assert_eq!(heard[1], r#"{"method":"n745"}"#);
}

#[tokio::test]
async fn more_questions_than_are_kept_are_a_breach() {
    let board = Switchboard::new(1_000_000);
    let question = |id: usize| line(&format!(r#"{{"id":{id},"method":"ping"}}"#));
    for id in 0..MOST_WAITING {
        board.route(question(id)).await.unwrap();
    }

    assert!(board.route(question(MOST_WAITING)).await.is_err());
}

#[tokio::test]
async fn the_waiting_room_is_bounded_in_bytes_too() {
    let board = Switchboard::new(1000);
    for _ in 0..10 {
        board.route(Bytes::from(vec![b'x'; 400])).await.unwrap();
    }

    assert_eq!(heard(&mut board.listen().unwrap()).len(), 2);
}

#[tokio::test]
async fn a_server_waits_while_nobody_reads_what_it_wrote() {
    let board = Switchboard::new(1000);
    let mut standing = board.listen().unwrap();
    board.route(Bytes::from(vec![b'x'; 600])).await.unwrap();

    assert!(board.route(Bytes::from(vec![b'y'; 600])).now_or_never().is_none());

    assert!(standing.try_recv().is_ok());
    assert!(board.route(Bytes::from(vec![b'y'; 600])).now_or_never().is_some());
}

/// A line of one byte takes far more memory than that while it waits.
#[tokio::test]
async fn short_lines_wait_in_limited_number_too() {
    let board = Switchboard::new(1000);
    let _standing = board.listen().unwrap();

    let routed = (0..100).take_while(|_| board.route(line("x")).now_or_never().is_some()).count();

    assert_eq!(routed, 7);
}

#[tokio::test]
async fn a_call_that_gave_up_takes_no_place() {
    let board = Switchboard::new(1000);
    let call = board.await_answer(1).unwrap();
    board.route(line(&format!(r#"{{"id":1,"result":"{}"}}"#, "x".repeat(900)))).await.unwrap();

    drop(call);

    assert!(board.route(Bytes::from(vec![b'x'; 1000])).now_or_never().is_some());
}

#[tokio::test]
async fn the_end_is_told_to_everybody_who_waits_and_to_whoever_comes_later() {
    let board = Switchboard::new(1000);
    let mut call = board.await_answer(1).unwrap();
    let mut standing = board.listen().unwrap();
    let failure = Failure::unknown(Cause::Closed).with_detail("gone");

    board.close(&failure);

    assert_eq!(call.deliveries.recv().await.unwrap().err(), Some(failure.clone()));
    assert_eq!(standing.recv().await.unwrap().err(), Some(failure.clone()));
    assert_eq!(board.await_answer(2).err(), Some(failure.clone()));
    assert_eq!(board.listen().err(), Some(failure));
}

fn line(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn heard(deliveries: &mut Deliveries) -> Vec<String> {
    let mut heard = Vec::new();
    while let Ok(Ok(parcel)) = deliveries.try_recv() {
        heard.push(String::from_utf8(parcel.line.to_vec()).unwrap());
    }
    heard
}
