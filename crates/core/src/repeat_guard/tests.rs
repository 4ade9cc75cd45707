use proptest::prelude::*;

use super::*;
use crate::outcome::DoubtForm;

#[test]
fn an_equal_call_is_held_for_30_s_from_the_last_telling() {
    let mut guard = told_at(10);

    assert_eq!(guard.ask(Moment::secs(39), &pay(), None), Some(doubt()));
    assert_eq!(guard.ask(Moment::secs(68), &pay(), None), Some(doubt()));
    assert_eq!(guard.ask(Moment::secs(98), &pay(), None), None);
    assert!(guard.is_empty());
}

#[test]
fn nothing_is_held_for_90_s_however_often_it_is_told() {
    let mut guard = told_at(10);

    for second in 11..100 {
        assert!(guard.ask(Moment::secs(second), &pay(), None).is_some(), "{second}");
    }
    assert_eq!(guard.ask(Moment::secs(100), &pay(), None), None);
}

#[test]
fn a_call_is_equal_whatever_its_meta_and_another_if_anything_else_differs() {
    let of = |principal: &str, client, server, params: &str| {
        let scope = CallScope::new(principal.as_bytes(), client, server);
        scope.call(&json(params)).expect("it is guarded")
    };
    let one = of(
        "ada",
        "agent",
        "bank",
        r#"{"name":"pay","arguments":{"n":1},"_meta":{"progressToken":1}}"#,
    );

    assert_eq!(
        one,
        of("ada", "agent", "bank", r#"{"_meta":{},"arguments":{"n":1},"name":"p\u0061y"}"#)
    );
    for other in [
        of("bob", "agent", "bank", r#"{"name":"pay","arguments":{"n":1}}"#),
        of("ada", "other", "bank", r#"{"name":"pay","arguments":{"n":1}}"#),
        of("ada", "agent", "shop", r#"{"name":"pay","arguments":{"n":1}}"#),
        of("ada", "agent", "bank", r#"{"name":"bay","arguments":{"n":1}}"#),
        of("ada", "agent", "bank", r#"{"name":"pay","arguments":{"n":2}}"#),
        of("ada", "agent", "bank", r#"{"name":"pay"}"#),
        of("ad", "aagent", "bank", r#"{"name":"pay","arguments":{"n":1}}"#),
    ] {
        assert_ne!(one, other);
    }
}

#[test]
fn rounds_tasks_and_tools_that_read_are_not_held() {
    for params in [
        r#"{"name":"pay","requestState":"s"}"#,
        r#"{"name":"pay","inputResponses":{}}"#,
        r#"{"name":"pay","task":{}}"#,
        r#"{"name":"get_balance"}"#,
        r#"{"arguments":{}}"#,
    ] {
        assert_eq!(scope().call(&json(params)), None, "{params}");
    }
}

#[test]
fn a_caller_that_has_looked_is_let_pass() {
    let mut guard = told_at(10);

    guard.looked(scope(), None, Moment::secs(11));

    assert_eq!(guard.ask(Moment::secs(12), &pay(), None), None);
}

#[test]
fn what_began_before_the_doubt_was_told_or_is_at_another_server_or_of_another_caller_is_no_look() {
    let mut guard = told_at(10);

    guard.looked(scope(), None, Moment::secs(9));
    guard.looked(CallScope::new(b"ada", "agent", "shop"), None, Moment::secs(11));
    guard.looked(CallScope::new(b"bob", "agent", "bank"), None, Moment::secs(11));

    assert_eq!(guard.ask(Moment::secs(12), &pay(), None), Some(doubt()));
}

#[test]
fn it_holds_the_session_of_the_call_and_later_ones_and_none_that_was_open_before() {
    let mut guard = RepeatGuard::default();
    let (own, before, later) = (session(1, 0), session(2, 4), session(3, 6));
    guard.told(Moment::secs(10), pay(), own, Moment::secs(5), doubt());

    assert_eq!(guard.ask(Moment::secs(11), &pay(), own), Some(doubt()));
    assert_eq!(guard.ask(Moment::secs(11), &pay(), later), Some(doubt()));
    assert_eq!(guard.ask(Moment::secs(11), &pay(), before), None);
}

#[test]
fn a_look_lets_the_session_pass_that_looked_and_no_other() {
    let mut guard = RepeatGuard::default();
    let (own, later) = (session(1, 0), session(3, 6));
    guard.told(Moment::secs(10), pay(), own, Moment::secs(5), doubt());

    guard.looked(scope(), later, Moment::secs(11));

    assert_eq!(guard.ask(Moment::secs(12), &pay(), later), None);
    assert_eq!(guard.ask(Moment::secs(12), &pay(), own), Some(doubt()));
}

#[test]
fn a_call_that_was_let_pass_and_ends_in_doubt_again_is_held_anew() {
    let mut guard = told_at(10);
    guard.looked(scope(), None, Moment::secs(11));
    assert_eq!(guard.ask(Moment::secs(12), &pay(), None), None);

    guard.told(Moment::secs(13), pay(), None, Moment::secs(12), doubt());

    assert_eq!(guard.ask(Moment::secs(14), &pay(), None), Some(doubt()));
}

#[test]
fn a_caller_with_many_doubts_pushes_out_its_own_and_no_others() {
    let mut guard = told_at(10);
    let flood = CallScope::new(b"bob", "agent", "bank");

    for number in 0..2 * MOST {
        let params = json(&format!(r#"{{"name":"pay","arguments":{number}}}"#));
        let call = flood.call(&params).expect("it is guarded");
        guard.told(Moment::secs(11), call, None, Moment::secs(10), doubt());
    }

    assert_eq!(guard.told.len(), MOST);
    assert_eq!(guard.ask(Moment::secs(12), &pay(), None), Some(doubt()));
}

#[test]
fn calls_and_reads_that_are_answered_are_looks_and_lists_and_questions_are_none() {
    let result = Answer::Result(json(r#"{"content":[]}"#));
    let asks = Answer::Result(json(r#"{"resultType":"input_required"}"#));

    assert!(is_look("tools/call", &result) && is_look("resources/read", &result));
    assert!(is_look("tools/call", &Answer::refusal(-32602, "no such tool")));
    for method in ["tools/list", "ping", "initialize", "prompts/get"] {
        assert!(!is_look(method, &result), "{method}");
    }
    assert!(!is_look("tools/call", &asks));
    for form in [DoubtForm::Error, DoubtForm::Result] {
        assert!(!is_look("tools/call", &doubt().answer(form)), "{form:?}");
    }
}

/// What may happen at a front.
#[derive(Clone, Debug)]
enum Step {
    Ask(usize, u64),
    Looked(usize, u64),
    Told(usize, u64),
    Wait(u64),
}

proptest! {
    #[test]
    fn whatever_happens_a_call_is_held_for_90_s_at_most_never_after_a_look_and_never_for_another(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut guard = RepeatGuard::default();
        let mut now = Moment::START;
        // When each caller was last told in each session, and whether it has looked there since.
        let mut tellings: BTreeMap<(usize, u64), (Moment, bool)> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Wait(seconds) => now = now + Duration::from_secs(seconds),
                Step::Told(who, number) => {
                    guard.told(now, pay_of(who), session(number, 0), now, doubt());
                    tellings.insert((who, number), (now, false));
                }
                Step::Looked(who, number) => {
                    guard.looked(scope_of(who), session(number, 0), now);
                    if let Some(telling) = tellings.get_mut(&(who, number)) {
                        telling.1 = true;
                    }
                }
                Step::Ask(who, number) => {
                    let held = guard.ask(now, &pay_of(who), session(number, 0)).is_some();
                    let telling = tellings.get(&(who, number));
                    // All sessions were open before the first call, so each holds for itself alone, but for one
                    // that began in the first moment.
                    let may_hold = tellings.iter().any(|((of, _), (told, _))| {
                        *of == who && now.since(*told) < SINCE_FIRST
                    });
                    prop_assert!(!held || may_hold);
                    if let Some((told, true)) = telling {
                        let is_first = tellings.iter().any(|((of, _), (it, _))| *of == who && *it == Moment::START);
                        prop_assert!(!held || is_first, "held after a look, told at {told}");
                    }
                }
            }
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let (who, number) = (0..3_usize, 1..4_u64);
    prop_oneof![
        (who.clone(), number.clone()).prop_map(|(who, number)| Step::Ask(who, number)),
        (who.clone(), number.clone()).prop_map(|(who, number)| Step::Looked(who, number)),
        (who, number).prop_map(|(who, number)| Step::Told(who, number)),
        (1..40_u64).prop_map(Step::Wait),
    ]
}

fn told_at(second: u64) -> RepeatGuard {
    let mut guard = RepeatGuard::default();
    guard.told(Moment::secs(second), pay(), None, Moment::secs(second - 1), doubt());
    guard
}

fn scope() -> CallScope {
    CallScope::new(b"ada", "agent", "bank")
}

fn scope_of(who: usize) -> CallScope {
    CallScope::new(&[who as u8], "agent", "bank")
}

fn pay() -> CallDigest {
    scope().call(&json(r#"{"name":"pay","arguments":{"n":1}}"#)).expect("it is guarded")
}

fn pay_of(who: usize) -> CallDigest {
    scope_of(who).call(&json(r#"{"name":"pay"}"#)).expect("it is guarded")
}

fn session(number: u64, opened: u64) -> Option<CallSession> {
    Some(CallSession { number, opened_at: Moment::secs(opened) })
}

fn doubt() -> Doubt {
    Doubt::new("interrupted", Json::empty_object())
}

fn json(text: &str) -> Json {
    Json::new(text.to_owned()).expect("valid JSON")
}

#[test]
fn a_held_repeat_says_when_it_is_taken_again() {
    let Answer::Result(told) = doubt().answer_to_repeat(DoubtForm::Result) else {
        panic!("an error")
    };

    let text = "This call was not sent; the same call is taken again after 30 s.";
    assert!(told.as_str().contains(text), "{}", told.as_str());
}
