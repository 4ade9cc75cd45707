use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};

use super::*;
use crate::failure::{Cause, Delivery, Failure};
use crate::outcome::{CallName, NoCredentials, Reason};

#[test]
fn a_doubt_is_a_result_with_three_sentences_and_its_facts_in_the_meta_alone() {
    let error = interrupted();

    let answer = Doubt::of(&Facts::of(&error)).answer(DoubtForm::Result);

    let Answer::Result(result) = answer else { panic!("an error") };
    assert_eq!(
        read(&result),
        json!({
            "content": [{"type": "text", "text": "The answer was lost on its way. The tool may have run. \
                 Look whether it took effect before you call it again, or ask the user."}],
            "isError": true,
            "_meta": {"ridethrough/doubt": {
                "kind": "interrupted", "status": 502, "mayHaveRun": true, "attempts": 2, "handshakes": 1,
                "elapsedMs": 2300, "retryAfterMs": 7000, "said": "Bad Gateway",
            }},
        })
    );
}

#[test]
fn a_doubt_is_told_as_a_result_unless_somebody_says_otherwise() {
    assert_eq!(DoubtForm::default().of_call(&interrupted(), None), DoubtForm::Result);
}

#[test]
fn the_form_of_an_error_has_the_same_facts_and_a_code_of_its_own() {
    let error = interrupted();
    let doubt = Doubt::of(&Facts::of(&error));
    let Answer::Result(result) = doubt.answer(DoubtForm::Result) else { panic!("an error") };

    let Answer::Error(told) = doubt.answer(DoubtForm::Error) else { panic!("a result") };

    let told = read(&told);
    assert_eq!(told["code"], -32050);
    assert_eq!(told["data"], read(&result)["_meta"]["ridethrough/doubt"]);
}

/// What these programs look for: `@mastra/mcp` 2.0, hermes, OpenAI Agents, LangChain, pydantic-ai, the SDKs.
#[test]
fn no_sentence_of_ours_holds_a_word_after_which_a_program_repeats_a_call() {
    const LOOKED_FOR: [&str; 32] = [
        "broken pipe",
        "closed",
        "connection",
        "econn",
        "end of file",
        "eof",
        "expired",
        "failed",
        "fetch",
        "http 4",
        "no such session",
        "not connected",
        "not found",
        "overloaded",
        "rate limit",
        "refused",
        "reset",
        "retry",
        "server error",
        "session not",
        "socket",
        "temporar",
        "terminated",
        "throttl",
        "time out",
        "timed out",
        "timeout",
        "transport",
        "try again",
        "try later",
        "typeerror",
        "unavailable",
    ];
    for error in every_error() {
        let doubt = Doubt::of(&Facts::of(&error));
        for form in [DoubtForm::Error, DoubtForm::Result] {
            for answer in [doubt.answer(form), doubt.answer_to_repeat(form)] {
                let words = words_of(&answer);

                let found = LOOKED_FOR.iter().find(|it| words.to_ascii_lowercase().contains(*it));
                assert_eq!(found, None, "{words}");
                assert!(!words.as_bytes().windows(3).any(is_status), "{words}");
            }
        }
    }
    for kind in ["answerLost", "childDied", "sessionEnded", "whatever"] {
        let words = words_of(&Doubt::new(kind, Json::empty_object()).answer(DoubtForm::Error));
        let found = LOOKED_FOR.iter().find(|it| words.to_ascii_lowercase().contains(*it));
        assert_eq!(found, None, "{words}");
    }
}

#[test]
fn only_an_unsafe_call_of_a_tool_is_told_as_a_result() {
    let (unsafe_call, task) = (interrupted(), Json::from(json!({"name": "pay", "task": {}})));
    let safe = CallError { is_repeatable: true, ..interrupted() };
    let cancelled = CallError { kind: Kind::Cancelled, ..interrupted() };
    let call = CallName { method: "prompts/get".into(), tool: None };
    let other = CallError { call, ..interrupted() };

    let form = |error: &CallError, params: Option<&Json>| DoubtForm::Result.of_call(error, params);

    assert_eq!(form(&unsafe_call, None), DoubtForm::Result);
    assert_eq!(form(&unsafe_call, Some(&task)), DoubtForm::Error);
    for error in [safe, cancelled, other] {
        assert_eq!(form(&error, None), DoubtForm::Error, "{error}");
    }
    assert_eq!(DoubtForm::Error.of_call(&unsafe_call, None), DoubtForm::Error);
}

#[test]
fn a_call_that_is_safe_to_repeat_is_not_said_to_need_a_look() {
    let error = CallError { is_repeatable: true, ..interrupted() };

    let words = words_of(&Doubt::of(&Facts::of(&error)).answer(DoubtForm::Error));

    assert!(words.ends_with("may have run the call. A second run would do no harm."), "{words}");
}

#[test]
fn a_doubt_is_read_back_as_it_was_told_in_either_form_whatever_the_kind() {
    for mut error in every_error() {
        (error.attempts, error.handshakes) = (3, 1);
        (error.elapsed, error.retry_after) =
            (Duration::from_millis(2300), Some(Duration::from_secs(7)));
        let facts = Facts::of(&error);
        let doubt = Doubt::of(&facts);
        let Answer::Error(told) = doubt.answer(DoubtForm::Error) else { panic!("a result") };

        for read in [
            told_in(&doubt.answer(DoubtForm::Result), &error.call),
            told_as_error(&told, &error.call),
        ] {
            let read = read.expect("a doubt");
            assert_eq!(Json::of(&Facts::of(&read)).unwrap(), Json::of(&facts).unwrap());
            assert!(read.may_have_run());
        }
    }
}

#[test]
fn what_a_tool_gave_and_what_a_server_said_are_no_doubt() {
    let call = interrupted().call;
    let doubt = json!({"kind": "interrupted", "mayHaveRun": false});
    for result in [
        json!({"content": [], "isError": true}),
        json!({"content": [], "_meta": {"ridethrough/lastKnown": {}}}),
        json!({"content": [], "structuredContent": {"ridethrough/doubt": {"mayHaveRun": true}}}),
        json!({"content": [], "_meta": {"ridethrough/doubt": "yes"}}),
        json!({"content": [], "_meta": {"ridethrough/doubt": doubt}}),
    ] {
        assert_eq!(told_in(&Answer::Result(Json::from(result)), &call), None);
    }
    for error in [
        json!({"code": -32000, "message": "", "data": {"mayHaveRun": true}}),
        json!({"code": -32050, "message": "", "data": {"mayHaveRun": false}}),
        json!({"code": -32050, "message": ""}),
    ] {
        assert_eq!(told_as_error(&Json::from(error), &call), None);
    }
}

#[test]
fn a_kind_that_only_a_front_has_is_an_interruption_and_its_other_facts_are_kept() {
    let facts = json!({"kind": "childDied", "mayHaveRun": true, "status": "exit status: 7", "lastWords": ["panic", "no cheese"]});
    let told = Doubt::new("childDied", Json::from(facts)).answer(DoubtForm::Result);

    let read = told_in(&told, &interrupted().call).expect("a doubt");

    assert_eq!((read.kind, read.status), (Kind::Interrupted, None));
    assert_eq!(read.said.as_deref(), Some("exit status: 7 | panic | no cheese"));
}

fn every_error() -> Vec<CallError> {
    let kinds =
        ["cancelled", "closed", "deadlinePassed", "exhausted", "interrupted", "sessionLost"];
    let kinds =
        kinds.into_iter().chain(["peerMisbehaved", "tooLarge", "unauthorized", "unreachable"]);
    let kinds = kinds.chain(["breakerOpen", "config", "incompatible"]);
    let kinds = kinds.map(|it| Kind::of_name(it, None).expect("a kind"));
    let kinds: Vec<_> = kinds.chain([Kind::Rejected { status: 503 }]).collect();
    let reasons = [
        Reason::Config("connection".into()),
        Reason::Credentials(NoCredentials::because("connection refused")),
        Reason::Elsewhere("http://localhost".into()),
        Reason::Nothing,
        Reason::Transport(Failure::unknown(Cause::Reset)),
        Reason::Said("Session expired".into()),
        Reason::Status(StatusCode::SERVICE_UNAVAILABLE),
        Reason::Transport(Failure::unknown(Cause::Reset).with_detail("connection reset by peer")),
        Reason::Transport(Failure::unknown(Cause::TooLarge)),
    ];
    let error = |kind, reason: &Reason| CallError { kind, reason: reason.clone(), ..interrupted() };
    kinds.iter().flat_map(|kind| reasons.iter().map(move |reason| error(*kind, reason))).collect()
}

fn interrupted() -> CallError {
    let call = CallName { method: "tools/call".into(), tool: Some("reset_connection".into()) };
    let reason = Reason::Status(StatusCode::BAD_GATEWAY);
    let error = CallError::new(Kind::Interrupted, Delivery::Unknown, call, reason);
    CallError {
        attempts: 2,
        handshakes: 1,
        elapsed: Duration::from_millis(2300),
        retry_after: Some(Duration::from_secs(7)),
        status: Some(StatusCode::BAD_GATEWAY),
        said: Some("Bad Gateway".into()),
        ..error
    }
}

fn words_of(answer: &Answer) -> String {
    let words = match answer {
        Answer::Error(error) => error.member("message"),
        Answer::Result(result) => {
            let content = result.member("content").and_then(|it| it.elements()?.pop());
            content.and_then(|it| it.member("text"))
        }
    };
    words.and_then(|it| it.read()).expect("words")
}

fn is_status(digits: &[u8]) -> bool {
    digits[0] == b'5' && digits[1..].iter().all(u8::is_ascii_digit)
}

fn read(json: &Json) -> Value {
    json.read().expect("JSON")
}
