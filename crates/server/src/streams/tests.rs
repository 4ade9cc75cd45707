use ridethrough_wire::message::Message;

use super::*;
use crate::parts::{ParsedMessage, Parts};

#[test]
fn an_answer_ends_the_stream_of_its_call_and_no_other() {
    let mut streams = Streams::new();
    let (one, two) = (open(&mut streams, 1), open(&mut streams, 2));

    push(&mut streams, r#"{"id":2,"result":{}}"#);

    assert_eq!(read(&mut streams, two), (vec![r#"{"id":2,"result":{}}"#.to_owned()], true));
    assert_eq!(read(&mut streams, one), (vec![], false));
}

#[test]
fn a_second_answer_to_one_call_is_nobodys() {
    let mut streams = Streams::new();
    let stream = open(&mut streams, 1);

    assert!(push(&mut streams, r#"{"id":1,"result":1}"#));
    assert!(!push(&mut streams, r#"{"id":1,"result":2}"#));

    assert_eq!(read(&mut streams, stream).0, [r#"{"id":1,"result":1}"#]);
}

#[test]
fn an_id_cannot_be_used_twice_at_once_but_again_afterwards() {
    let mut streams = Streams::new();
    open(&mut streams, 1);

    assert_eq!(open_all(&mut streams, &[request(1)], Carries::Everything), Err(NotTaken::InUse));
    push(&mut streams, r#"{"id":1,"result":1}"#);
    assert!(open_all(&mut streams, &[request(1)], Carries::Everything).is_ok());
    assert_eq!(
        open_all(&mut streams, &[request(5), request(5)], Carries::Everything),
        Err(NotTaken::InUse)
    );
}

#[test]
fn progress_goes_to_its_call_whoever_reads_the_standing_stream() {
    let mut streams = Streams::new();
    let _standing = streams.attach(STANDING, None).unwrap();
    let (one, _two) = (open(&mut streams, 1), open(&mut streams, 2));

    push(&mut streams, r#"{"method":"notifications/progress","params":{"progressToken":"t1"}}"#);
    push(&mut streams, r#"{"method":"notifications/progress","params":{"progressToken":"t9"}}"#);

    assert_eq!(read(&mut streams, one).0.len(), 1);
    assert_eq!(read(&mut streams, STANDING).0.len(), 1);
}

#[test]
fn what_is_about_no_call_goes_where_somebody_reads() {
    let mut streams = Streams::new();
    let (one, two, three) = (open(&mut streams, 1), open(&mut streams, 2), open(&mut streams, 3));
    let target = |streams: &Streams| streams.target(None, Weight::Question);

    assert_eq!(target(&streams), Some(STANDING), "nobody reads: it is kept");
    let one_reader = streams.attach(one, None).unwrap();
    let two_reader = streams.attach(two, None).unwrap();
    assert_eq!(target(&streams), Some(two), "the newest that is read, not {three}");
    streams.detach(two, &two_reader.0);
    assert_eq!(target(&streams), Some(one));
    let _standing = streams.attach(STANDING, None).unwrap();
    assert_eq!(target(&streams), Some(STANDING));
    drop(one_reader);
}

#[test]
fn a_client_that_takes_answers_only_gets_nothing_else() {
    let mut streams = Streams::new();
    let stream = open_all(&mut streams, &[request(1)], Carries::Answers).unwrap();
    let _reader = streams.attach(stream, None).unwrap();

    push(&mut streams, r#"{"method":"notifications/progress","params":{"progressToken":"t1"}}"#);
    push(&mut streams, r#"{"id":"q","method":"roots/list"}"#);

    assert_eq!(read(&mut streams, stream).0.len(), 0);
    assert_eq!(read(&mut streams, STANDING).0, [r#"{"id":"q","method":"roots/list"}"#]);
}

#[test]
fn a_stream_goes_on_collecting_without_a_reader_and_is_resumed_behind_what_was_seen() {
    let mut streams = Streams::new();
    let stream = open(&mut streams, 1);
    let (ticket, _) = streams.attach(stream, None).unwrap();
    let progress = r#"{"method":"notifications/progress","params":{"progressToken":"t1"}}"#;
    push(&mut streams, progress);
    streams.detach(stream, &ticket);
    push(&mut streams, progress);
    push(&mut streams, r#"{"id":1,"result":{}}"#);

    let (ticket, cursor) = streams.attach(stream, Some(1)).unwrap();

    assert_eq!(cursor, 1);
    assert!(matches!(streams.next(stream, &ticket, 1), Next::Event(entry) if entry.number == 2));
    assert!(matches!(streams.next(stream, &ticket, 2), Next::Event(entry) if entry.number == 3));
    assert!(matches!(streams.next(stream, &ticket, 3), Next::Over));
}

#[test]
fn who_comes_later_takes_a_stream_over() {
    let mut streams = Streams::new();
    let (old, _) = streams.attach(STANDING, None).unwrap();
    push(&mut streams, r#"{"method":"a"}"#);
    assert!(matches!(streams.next(STANDING, &old, 0), Next::Event(_)));

    let (new, cursor) = streams.attach(STANDING, None).unwrap();

    assert_eq!(cursor, 1, "what was read is not read twice");
    assert!(matches!(streams.next(STANDING, &old, 1), Next::Over));
    assert!(matches!(streams.next(STANDING, &new, 1), Next::Wait));
    streams.detach(STANDING, &old);
    assert!(
        matches!(streams.next(STANDING, &new, 1), Next::Wait),
        "it is not the old one's any more"
    );
}

#[test]
fn events_and_streams_that_never_were_cannot_be_resumed() {
    let mut streams = Streams::new();
    let stream = open(&mut streams, 1);

    assert!(streams.attach(99, Some(0)).is_none());
    assert!(streams.attach(stream, Some(1)).is_none());
}

#[test]
fn a_stream_that_is_read_out_is_resumed_by_nobody() {
    let mut streams = Streams::new();
    let (answered, cancelled) = (open(&mut streams, 1), open(&mut streams, 2));
    assert!(streams.attach(cancelled, Some(0)).is_some(), "it is not over");
    push(&mut streams, r#"{"id":1,"error":{"code":1,"message":"no"}}"#);
    streams.cancel(&Json::new("2").unwrap());

    assert!(streams.attach(answered, Some(0)).is_some());
    assert!(streams.attach(answered, Some(1)).is_none());
    assert!(streams.attach(cancelled, Some(0)).is_none());
    assert!(streams.attach(STANDING, Some(0)).is_some());
    streams.end(|_| Bytes::new().into());
    assert!(streams.attach(STANDING, Some(0)).is_none());
}

#[test]
fn the_end_answers_every_call_and_finishes_every_stream() {
    let mut streams = Streams::new();
    let (one, two) = (open(&mut streams, 1), open(&mut streams, 2));
    push(&mut streams, r#"{"id":1,"result":{}}"#);

    streams.end(|call| Bytes::from(format!("gone {}", call.id.json().as_str())).into());

    assert_eq!(read(&mut streams, one), (vec![r#"{"id":1,"result":{}}"#.to_owned()], true));
    assert_eq!(read(&mut streams, two), (vec!["gone 2".to_owned()], true));
    assert!(read(&mut streams, STANDING).1);
}

#[test]
fn a_cancelled_call_has_no_answer_and_its_stream_is_over() {
    let mut streams = Streams::new();
    let stream = open(&mut streams, 1);

    streams.cancel(&Json::new("1").unwrap());

    assert!(!push(&mut streams, r#"{"id":1,"result":{}}"#));
    assert_eq!(read(&mut streams, stream), (vec![], true));
}

#[test]
fn a_batch_is_over_with_its_last_answer() {
    let mut streams = Streams::new();
    let stream = open_all(&mut streams, &[request(1), request(2)], Carries::Everything).unwrap();

    push(&mut streams, r#"{"id":2,"result":{}}"#);
    assert!(!read(&mut streams, stream).1);
    push(&mut streams, r#"{"id":1,"result":{}}"#);
    assert!(read(&mut streams, stream).1);
}

#[test]
fn finished_streams_are_kept_but_not_for_ever() {
    let mut streams = Streams::new();
    for id in 1..=MOST_FINISHED + 3 {
        open(&mut streams, id);
        push(&mut streams, &format!(r#"{{"id":{id},"result":{{}}}}"#));
    }
    assert!(streams.attach(3, Some(0)).is_none());
    assert!(streams.attach(4, Some(0)).is_some());

    let big = open(&mut streams, 1000);
    let result = "x".repeat(MOST_FINISHED_BYTES + 1);
    push(&mut streams, &format!(r#"{{"id":1000,"result":"{result}"}}"#));

    assert!(streams.attach(5, Some(0)).is_none());
    assert!(streams.attach(4, Some(0)).is_some(), "it is being read");
    assert!(streams.attach(big, Some(0)).is_some(), "the newest always stays");
}

fn open(streams: &mut Streams, id: usize) -> u64 {
    open_all(streams, &[request(id)], Carries::Everything).unwrap()
}

fn open_all(
    streams: &mut Streams,
    parts: &[ParsedMessage],
    carries: Carries,
) -> Result<u64, NotTaken> {
    streams.open(NewCalls::read(parts)?, carries)
}

fn request(id: usize) -> ParsedMessage {
    let text =
        format!(r#"{{"id":{id},"method":"m","params":{{"_meta":{{"progressToken":"t{id}"}}}}}}"#);
    let Ok(Parts::One(part)) = Parts::read(&Bytes::from(text)) else { panic!("not a message") };
    part
}

/// Says something of the backend's, progress of the call whose token is its id behind a `t`.
fn push(streams: &mut Streams, text: &str) -> bool {
    let Ok(Parts::One(part)) = Parts::read(&Bytes::from(text.to_owned())) else {
        panic!("not a message")
    };
    let number_of = |id: &str| {
        let mut calls = streams.calls.all().iter();
        calls.find(|call| call.id.json().as_str() == id).map(|call| call.number)
    };
    let (call, weight) = match &part.message {
        Message::Notification { params, .. } => {
            let token = params.as_ref().and_then(|it| it.member("progressToken")?.read::<String>());
            (token.and_then(|token| number_of(&token[1..])), Weight::Notification)
        }
        Message::Request { .. } => (None, Weight::Question),
        Message::Response { id, .. } => {
            (number_of(id.as_ref().unwrap().json().as_str()), Weight::Answer)
        }
    };
    streams.push(call, part.text().into(), weight).is_some()
}

/// Returns all events of a stream, and whether it is over.
fn read(streams: &mut Streams, stream: u64) -> (Vec<String>, bool) {
    let (ticket, mut cursor) = streams
        .attach(stream, Some(0))
        .or_else(|| {
            // A stream that carries answers only cannot be resumed.
            streams.attach(stream, None)
        })
        .unwrap();
    let mut texts = Vec::new();
    loop {
        match streams.next(stream, &ticket, cursor) {
            Next::Event(entry) => {
                cursor = entry.number;
                texts.push(String::from_utf8(entry.said.text().to_vec()).unwrap());
            }
            next => {
                streams.detach(stream, &ticket);
                return (texts, matches!(next, Next::Over));
            }
        }
    }
}
