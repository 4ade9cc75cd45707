use super::*;
use crate::failure::Advice;

#[test]
fn a_report_says_what_happened_what_was_tried_and_what_to_do() {
    let error = interrupted();

    assert_eq!(
        error.report(),
        "tools/call `deploy` was interrupted: connection reset\n  \
         tried: 1 attempt in 2.3 s; the server may have run it; not sent again, because `deploy` is not marked safe to repeat\n\
         hint: check whether `deploy` took effect before you repeat it"
    );
}

#[test]
fn a_hint_of_the_server_never_hides_a_doubt() {
    let mut error = interrupted();
    error.retry_after = Some(Duration::from_secs(5));

    let report = error.report();

    assert!(report.ends_with(
        "hint: check whether `deploy` took effect before you repeat it, and not sooner than in 5.0 s"
    ), "{report}");
}

#[test]
fn a_long_pause_is_told_in_minutes_and_hours() {
    let told = [90, 121, 3600, 5000].map(|it| spoken(Duration::from_secs(it)));

    assert_eq!(told, ["90.0 s", "3 min", "1 h", "1 h 24 min"]);
}

#[test]
fn a_call_that_may_be_repeated_is_not_told_that_it_may_not() {
    let mut error = interrupted();
    error.is_repeatable = true;

    let report = error.report();

    assert!(
        report.ends_with("; the server may have run it\nhint: `deploy` may be called again"),
        "{report}"
    );
}

#[test]
fn a_status_is_told_once() {
    let mut error = interrupted();
    error.kind = Kind::Rejected { status: 429 };
    error.reason = Reason::Status(StatusCode::TOO_MANY_REQUESTS);

    assert_eq!(error.to_string(), "tools/call `deploy` was rejected with status 429");
}

#[test]
fn the_same_words_never_claim_a_run_that_cannot_have_happened() {
    let error = CallError {
        kind: Kind::Unreachable,
        delivery: Delivery::NotSent,
        call: CallName { method: "ping".into(), tool: None },
        attempts: 0,
        handshakes: 0,
        elapsed: Duration::from_secs(10),
        retry_after: None,
        reason: Reason::Transport(Failure::not_sent(Cause::ConnectRefused)),
        status: None,
        said: None,
        is_repeatable: true,
    };

    assert_eq!(
        error.report(),
        "`ping` could not reach the server: connection refused\n  \
         tried: nothing was sent in 10.0 s\n\
         hint: check the address and that the server is running"
    );
}

#[test]
fn a_limit_and_a_guard_are_not_taken_for_a_wrong_address() {
    let hint = |kind, reason| {
        let (attempts, handshakes, delivery) = (0, 1, Delivery::NotSent);
        let error = CallError { kind, reason, attempts, handshakes, delivery, ..interrupted() };
        error.report().split_once("hint: ").map(|(_, hint)| hint.to_owned()).unwrap()
    };

    assert_eq!(
        hint(Kind::Rejected { status: 429 }, Reason::Status(StatusCode::TOO_MANY_REQUESTS)),
        "try again later: the server limits how often it is asked"
    );
    assert_eq!(
        hint(Kind::Unreachable, Reason::Status(StatusCode::FORBIDDEN)),
        "check the credentials for this server, and what they may do"
    );
}

#[test]
fn what_the_layer_below_advises_is_more_than_the_cause_can_say() {
    let failure = Failure::not_sent(Cause::BadCertificate).with_advice(Advice::RenewCertificate);
    let error = CallError {
        kind: Kind::Unreachable,
        delivery: Delivery::NotSent,
        reason: Reason::Transport(failure),
        ..interrupted()
    };

    assert!(
        error.report().contains("\nhint: renew the server's certificate; "),
        "{}",
        error.report()
    );
}

#[test]
fn a_handshake_that_was_answered_is_not_told_as_nothing_sent() {
    let call = CallName { method: "initialize".into(), tool: None };
    let mut error = CallError::new(Kind::Unauthorized, Delivery::NotSent, call, Reason::Nothing);
    error.handshakes = 2;

    let report = error.report();

    assert!(report.contains("tried: 2 requests of the handshake in 0.0 s"), "{report}");
}

#[test]
fn who_is_sent_elsewhere_is_told_to_look_there() {
    let error = CallError { kind: Kind::Rejected { status: 308 }, ..interrupted() };
    let error = CallError { delivery: Delivery::Refused, ..error };

    let report = error.report();

    assert!(report.ends_with("the address that the server names, if you trust it"), "{report}");
}

#[test]
fn an_answer_that_is_too_large_names_its_limit_and_the_setting_that_raises_it() {
    let failure = Failure::unknown(Cause::TooLarge).with_detail("a body of more than 16 MiB");
    let reason = Reason::Transport(failure);
    let error = CallError { kind: Kind::TooLarge, reason, ..interrupted() };

    assert_eq!(
        error.to_string(),
        "tools/call `deploy` got an answer that is larger than its limit: a body of more than 16 MiB"
    );
    assert!(error.report().ends_with(
        "hint: check whether `deploy` took effect before you repeat it; \
         raise the limit with `--max-message` or `ClientBuilder::message_limit`"
    ));
}

fn interrupted() -> CallError {
    let call = CallName { method: "tools/call".into(), tool: Some("deploy".into()) };
    let reason = Reason::Transport(Failure::unknown(Cause::Reset));
    let error = CallError::new(Kind::Interrupted, Delivery::Unknown, call, reason);
    CallError { attempts: 1, elapsed: Duration::from_millis(2300), ..error }
}
