//! Rounds of calls, under a clock of the test.

use super::*;
use bytes::Bytes;
use ridethrough_wire::message::{Answer, Id, Incoming, Message};

#[tokio::test(start_paused = true)]
async fn questions_that_come_together_are_asked_together() {
    let (mut rounds, now) = (Rounds::default(), Instant::now());
    assert!(
        rounds.ask(now, 1, question(7), subject)
            && rounds.ask(now + A_MOMENT / 2, 1, question(8), subject)
    );

    assert_eq!(rounds.due(), Some(now + A_MOMENT));
    assert!(rounds.take_due(now).is_empty());
    let asked = asked(rounds.take_due(now + A_MOMENT));

    assert_eq!(asked["resultType"], "input_required");
    assert_eq!(asked["inputRequests"]["7"]["method"], "roots/list");
    assert_eq!(asked["inputRequests"].as_object().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_state_is_good_once_and_what_was_not_answered_is_asked_again() {
    let (mut rounds, now) = (Rounds::default(), Instant::now());
    rounds.ask(now, 1, question(7), subject);
    rounds.ask(now, 1, question(8), subject);
    let state = state(rounds.take_due(now + A_MOMENT));

    assert!(rounds.take_up(now, "another", subject).is_none());
    let taken = rounds.take_up(now, &state, subject);
    assert!(matches!(taken, Some(TakenUp::Running { call: 1 })), "{taken:?}");
    assert!(rounds.take_up(now, &state, subject).is_none());
    assert_eq!(rounds.answered(1, "7"), Some(QuestionId::new(7)));
    assert_eq!(rounds.answered(1, "7"), None);
    rounds.went_on(1);

    let again = asked(rounds.take_due(now));
    assert!(again["inputRequests"]["8"].is_object() && again["inputRequests"]["7"].is_null());
    assert_ne!(again["requestState"], state);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_call_waits_for_its_host_and_not_for_ever() {
    let (mut rounds, now) = (Rounds::default(), Instant::now());
    for call in [1, 2] {
        rounds.ask(now, call, question(call), subject);
    }
    let mut due = rounds.take_due(now + A_MOMENT);
    let (second, first) = (due.pop().unwrap(), due.pop().unwrap());
    for call in [1, 2] {
        assert!(matches!(rounds.ended(finished(call, None)), (None, left) if left.is_empty()));
    }

    let taken = rounds.take_up(now, &state(vec![first]), subject);
    assert!(matches!(taken, Some(TakenUp::Ended(end)) if end.number == 1));
    let late = rounds.take_due(now + A_MOMENT + PATIENCE);
    assert!(matches!(late[..], [Due::GiveUp { call: 2, .. }]), "{late:?}");
    assert!(rounds.take_up(now, &state(vec![second]), subject).is_none());
    assert_eq!(rounds.due(), None);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_or_is_not_asked_any_more_is_answered_as_ever() {
    let (mut rounds, now) = (Rounds::default(), Instant::now());
    rounds.ask(now, 1, question(7), subject);
    rounds.ask(now, 2, question(8), subject);

    assert!(rounds.ended(finished(1, Some(id()))).0.is_some());
    rounds.withdraw(QuestionId::new(8));

    assert_eq!(rounds.due(), None);
}

#[tokio::test(start_paused = true)]
async fn a_question_beside_all_calls_is_left_over_once_however_its_call_is_over() {
    let (mut rounds, now) = (Rounds::default(), Instant::now());
    for call in 1..=4 {
        rounds.ask(now, call, question(call), subject);
        rounds.ask(now, call, Question { exchange: None, ..question(10 + call) }, subject);
    }
    let left = |call: u64| vec![QuestionId::new(10 + call)];

    assert_eq!(rounds.forget(1), left(1));
    assert_eq!(rounds.ended(finished(2, Some(id()))).1, left(2));
    rounds.take_due(now + A_MOMENT);
    assert_eq!(rounds.ended(finished(3, None)).1, left(3));
    let due = rounds.take_due(now + A_MOMENT + PATIENCE);

    let given_up = due.into_iter().map(|due| match due {
        Due::GiveUp { call, unanswered } => (call, unanswered),
        due @ Due::Ask { .. } => panic!("{due:?}"),
    });
    assert_eq!(given_up.collect::<Vec<_>>(), [(3, vec![]), (4, left(4))]);
}

#[tokio::test(start_paused = true)]
async fn only_so_many_calls_are_suspended() {
    let (mut rounds, now) = (Rounds::default(), Instant::now());
    let most = u64::try_from(MOST).unwrap();

    assert!((0..most).all(|call| rounds.ask(now, call, question(call), subject)));

    assert!(!rounds.ask(now, most, question(most), subject), "there is no room for another");
    assert!(rounds.ask(now, 0, question(most + 1), subject), "one of them may be asked more");
}

#[test]
fn a_call_is_about_its_method_and_params_and_not_about_its_round() {
    let subject =
        |method: &str, params: &str| Subject::of(method, &Json::new(params.to_owned()).unwrap());
    let call = subject("tools/call", r#"{"name":"a","arguments":{"n":1,"m":2},"_meta":{"x":1}}"#);
    let deep = |text: &str| {
        subject("m", &format!("{{\"x\":{}{text}{}}}", "[".repeat(500), "]".repeat(500)))
    };

    for (method, params, expected) in [
        ("tools/call", r#"{"name":"a","arguments":{"n":1,"m":2}}"#, true),
        ("tools/call", r#"{"arguments":{"m":2,"n":1},"requestState":"s","name":"a"}"#, true),
        ("tools/call", r#"{"name":"a","arguments":{"n":1,"m":2},"inputResponses":{}}"#, true),
        ("tools/call", r#"{"name":"a","arguments":{"n":1,"m":3}}"#, false),
        ("tools/call", r#"{"name":"a"}"#, false),
        ("prompts/get", r#"{"name":"a","arguments":{"n":1,"m":2}}"#, false),
    ] {
        assert_eq!(call.is(&subject(method, params)), expected, "{method} {params}");
    }
    assert!(deep("1").is(&deep("1")) && !deep("1").is(&deep("2")), "what is too deep to be read");
}

fn subject() -> Subject {
    Subject::of("tools/call", &Json::empty_object())
}

fn question(number: u64) -> Question {
    let params = Json::new("{}").unwrap();
    let (id, exchange) = (QuestionId::new(number), Some(ExchangeId::new(number)));
    Question { id, exchange, method: "roots/list".into(), params: Some(params) }
}

fn id() -> Id {
    match Incoming::parse(&Bytes::from_static(br#"{"id":5,"method":"m"}"#)) {
        Ok(Incoming::One(Message::Request { id, .. })) => id,
        other => panic!("{other:?}"),
    }
}

fn finished(number: u64, id: Option<Id>) -> Finished {
    let ended = Ok(Answer::Result(Json::empty_object())).into();
    let (method, began) = ("tools/call".into(), Instant::now());
    Finished { number, id, method, params: None, asker: None, began, ended }
}

fn asked(due: Vec<Due>) -> Value {
    match &due[..] {
        [Due::Ask { result, .. }] => result.read().unwrap(),
        due => panic!("{due:?}"),
    }
}

fn state(due: Vec<Due>) -> String {
    asked(due)["requestState"].as_str().unwrap().to_owned()
}
