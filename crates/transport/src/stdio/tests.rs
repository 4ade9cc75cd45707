//! The machine's requests, sent to shell scripts that stand in for servers.

use ridethrough_core::{Address, AttemptId, CredentialsId, Delivery, Headers, Lane, Route};
use ridethrough_wire::sse::{Decoder, EventId, Item};
use tokio::time::timeout;

use super::*;
use crate::transport::Recall;

const ANSWER: &str = r#"read a; echo '{"id":1,"result":{}}';"#;

/// A server is started again after it died, so one handle must do for many starts.
#[test]
fn stderr_goes_to_the_file_at_each_start() {
    let path = std::env::temp_dir().join(format!("ridethrough-stderr-{}", std::process::id()));
    let command = Command::new("sh").args(["-c", "echo said >&2"]);
    let command = command.stderr_to(std::fs::File::create(&path).unwrap());

    for _ in 0..2 {
        assert!(command.to_std().status().unwrap().success());
    }

    let said = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(said, "said\nsaid\n");
}

#[tokio::test]
async fn a_child_that_has_not_answered_yet_is_asked_again_and_not_started_again() {
    let stdio = shell(r#"read a; read b; echo '{"id":2,"result":{"heard":2}}'; read c"#);
    let abandoned = stdio.perform(initialize(1));
    assert!(timeout(Duration::from_millis(300), abandoned).await.is_err(), "nobody answered yet");

    let (head, body) = answered(stdio.perform(initialize(2)).await);

    assert_eq!(head.session.unwrap().as_str(), "1");
    assert_eq!(text(body).await, "data: {\"id\":2,\"result\":{\"heard\":2}}\n\n");
}

#[tokio::test]
async fn a_late_answer_to_a_handshake_that_was_given_up_makes_no_second_session() {
    let stdio = shell(
        r#"read a; read b; echo '{"id":1,"result":{}}'; echo '{"id":2,"result":{}}'; read c"#,
    );
    let mut first = stdio.perform(initialize(1));
    assert!(timeout(Duration::from_millis(300), &mut first).await.is_err(), "nobody answered yet");

    let second = stdio.perform(initialize(2)).await;

    let failure = first.await.expect_err("a session that would be deleted under the second");
    assert_eq!(failure.detail.as_deref(), Some(GIVEN_UP));
    assert!(second.is_ok());
}

#[tokio::test]
async fn each_handshake_after_an_answered_one_has_a_child_of_its_own() {
    let stdio = shell(&format!("{ANSWER} read b"));
    let (first, _body) = answered(stdio.perform(initialize(1)).await);

    let (second, _body) = answered(stdio.perform(initialize(1)).await);

    assert_eq!(first.session.as_ref().unwrap().as_str(), "1");
    assert_eq!(second.session.unwrap().as_str(), "2");
    // A request in the session of the first child is not for the second.
    for verb in [ping(2), Verb::Get { last_event_id: None }, Verb::Delete] {
        let (head, _) = answered(stdio.perform(request(verb, first.session.clone())).await);
        assert_eq!(head.status, StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn a_child_that_does_not_want_to_leave_does_not_outlive_the_client() {
    let stdio =
        shell(r#"trap '' TERM; read a; echo '{"id":1,"result":'$$'}'; while :; do sleep 1; done"#);
    let (_, mut body) = answered(stdio.perform(initialize(1)).await);
    let said = body.chunk().await.unwrap().unwrap();
    let number: String = said.iter().skip(20).map(|it| char::from(*it)).collect();
    let number = number.trim_matches(|it: char| !it.is_ascii_digit()).parse().unwrap();
    let pid = rustix::process::Pid::from_raw(number).unwrap();
    // A second handshake dismisses the first child, which takes long to end.
    let second = stdio.perform(initialize(1)).await;
    assert!(rustix::process::test_kill_process(pid).is_ok());

    drop((stdio, second));

    let gone = async {
        while rustix::process::test_kill_process(pid).is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    // It would be killed 3.5 s after it was dismissed, whatever became of the client.
    timeout(Duration::from_secs(2), gone).await.expect("it lives on");
}

#[tokio::test]
async fn a_child_that_stays_when_its_stdin_ends_is_asked_to_leave_before_it_is_killed() {
    let stdio = shell(&format!(
        "trap 'echo asked to leave >&2; exit 9' TERM; {ANSWER} while :; do sleep 0.1; done"
    ));
    let (head, _body) = answered(stdio.perform(initialize(1)).await);
    let (_, mut waiting) = answered(stdio.perform(request(ping(2), head.session.clone())).await);

    let (ended, _) = answered(stdio.perform(request(Verb::Delete, head.session)).await);

    assert_eq!(ended.status, StatusCode::NO_CONTENT);
    let detail = waiting.chunk().await.unwrap().unwrap_err().detail.unwrap();
    // Some shells also report the signal to their `sleep`.
    assert!(detail.contains("exit status: 9") && detail.ends_with("asked to leave"), "{detail}");
}

#[tokio::test]
async fn what_no_child_can_mean_is_refused() {
    let stdio = shell(&format!("{ANSWER} read b"));
    let (head, _body) = answered(stdio.perform(initialize(1)).await);
    let resume = Verb::Get { last_event_id: Some(event_id()) };

    let (resumed, _) = answered(stdio.perform(request(resume, head.session)).await);
    let (stranger, _) = answered(stdio.perform(request(ping(2), None)).await);

    assert_eq!(resumed.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(stranger.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_request_is_answered_by_a_stream_that_ends_with_its_answer() {
    let stdio = shell(&format!(r#"{ANSWER} read b; echo '{{"id":2,"result":7}}'; read c"#));
    let (head, _body) = answered(stdio.perform(initialize(1)).await);

    let (head, body) = answered(stdio.perform(request(ping(2), head.session)).await);

    assert!(head.is_stream());
    assert_eq!(text(body).await, "data: {\"id\":2,\"result\":7}\n\n");
}

#[tokio::test]
async fn a_child_that_dies_before_it_ever_answers_has_no_head() {
    let stdio = shell("read a; echo no config >&2; exit 5");

    let failure = stdio.perform(initialize(1)).await.unwrap_err();

    assert_eq!((failure.cause, failure.delivery), (Cause::Closed, Delivery::Unknown));
    let words = "`sh` has ended, exit status: 5; its last words: no config";
    assert_eq!(failure.detail.as_deref(), Some(words));
}

#[tokio::test]
async fn what_a_child_prints_that_is_no_message_is_told_when_it_ends() {
    let stdio = shell("read a; echo Listening on port 3000; echo more; echo why >&2; exit 0");

    let failure = stdio.perform(initialize(1)).await.unwrap_err();

    let words = "`sh` has ended, exit status: 0; it printed what is no message: Listening on port 3000; \
                 its last words: why";
    assert_eq!(failure.detail.as_deref(), Some(words));
    assert_eq!(failure.advice, Some(ridethrough_core::Advice::RunProgram));
}

#[tokio::test]
async fn a_request_to_a_child_that_has_closed_its_stdin_was_not_sent() {
    let stdio = shell(&format!("{ANSWER} exec <&-; while :; do sleep 1; done"));
    let (head, _body) = answered(stdio.perform(initialize(1)).await);
    // The shell closes it a moment after it answered.
    tokio::time::sleep(Duration::from_millis(300)).await;

    let failure = stdio.perform(request(ping(2), head.session)).await.unwrap_err();

    assert_eq!((failure.cause, failure.delivery), (Cause::Closed, Delivery::NotSent));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hears_nothing_still_hears_that_the_server_lives() {
    let board = crate::switchboard::Switchboard::new(1000);
    let mut body = beating(LineBody::new(LineSource::Call(board.await_answer(1).unwrap()), None));
    let began = tokio::time::Instant::now();

    let sign = body.chunk().await.unwrap().unwrap();

    assert_eq!(sign, ":\n\n");
    assert!(began.elapsed() < Duration::from_secs(30), "row 19 asks after 30 s");
}

/// The end of a server that no longer reads must not depend on the patience of the last caller.
#[tokio::test]
async fn a_child_that_closed_its_stdin_is_ended_though_nobody_waits_long_enough_to_see_it() {
    let stdio =
        shell(r#"read a; echo '{"id":1,"result":{}}'; exec <&-; while :; do sleep 0.1; done"#);
    let (head, _body) = answered(stdio.perform(initialize(1)).await);

    let gone = async {
        for id in 2.. {
            let asked = stdio.perform(request(ping(id), head.session.clone()));
            let asked = timeout(Duration::from_millis(500), asked).await;
            if let Ok(Ok(Reply::Answered { head, .. })) = asked
                && head.status == StatusCode::NOT_FOUND
            {
                return;
            }
        }
    };

    timeout(Duration::from_secs(10), gone).await.expect("the useless child stays for ever");
}

/// A leader may leave its group: then a signal to the group does not reach it.
#[tokio::test]
async fn a_child_that_leaves_its_group_does_not_outlive_the_client() {
    // Few other programs can do that to themselves.
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped: there is no python3");
    }
    let script = "import os,time;os.setpgid(0,os.getpgid(os.getppid()));\
        input();print('{\"id\":1,\"result\":%d}'%os.getpid(),flush=True);time.sleep(30)";
    let stdio = Stdio::new(Command::new("python3").arg("-c").arg(script), 10_000);
    let (_, mut body) = answered(stdio.perform(initialize(1)).await);
    let said = body.chunk().await.unwrap().unwrap();
    let number: String = said.iter().skip(20).map(|it| char::from(*it)).collect();
    let number = number.trim_matches(|it: char| !it.is_ascii_digit()).parse().unwrap();
    let pid = rustix::process::Pid::from_raw(number).unwrap();

    drop((stdio, body));

    let gone = async {
        while rustix::process::test_kill_process(pid).is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(2), gone).await.expect("it lives on");
}

fn event_id() -> EventId {
    let mut decoder = Decoder::new(100);
    decoder.feed(Bytes::from_static(b"id: 7\ndata: x\n\n"));
    let Some(Ok(Item::Event(event))) = decoder.next_item() else { panic!("an event was fed") };
    event.id.unwrap()
}

fn shell(script: &str) -> Stdio {
    Stdio::new(Command::new("sh").arg("-c").arg(script), 10_000)
}

fn initialize(id: u64) -> TransportRequest {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize"}}"#);
    request(Verb::Post { body: body.into() }, None)
}

fn ping(id: u64) -> Verb {
    Verb::Post { body: format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).into() }
}

fn request(verb: Verb, session: Option<SessionId>) -> TransportRequest {
    let to = Address { session, ..Address::default() };
    let (attempt, credentials) = (AttemptId::new(1), CredentialsId::new(0));
    let (headers, lane) = (Headers::default(), Lane::Call);
    let outgoing = Outgoing { attempt, verb, to, credentials, headers, lane, route: Route::Any };
    TransportRequest::Request { outgoing, token: None, recall: Recall::default() }
}

fn answered(reply: Result<Reply, Failure>) -> (AnswerHead, Box<dyn Body>) {
    match reply.unwrap() {
        Reply::Answered { head, body, .. } => (head, body),
        Reply::Connected => panic!("no answer"),
    }
}

async fn text(mut body: Box<dyn Body>) -> String {
    let mut text = Vec::new();
    while let Some(chunk) = body.chunk().await {
        text.extend_from_slice(&chunk.unwrap());
    }
    String::from_utf8(text).unwrap()
}
