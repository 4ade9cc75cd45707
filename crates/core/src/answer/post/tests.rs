use super::*;

#[test]
fn what_names_our_request_is_the_answer_under_any_status() {
    for status in [200, 302, 400, 402, 404, 405, 409, 410, 418, 422, 500, 501, 502, 503, 504, 529] {
        let error = r#"{"id":7,"error":{"code":-32000,"message":"no disk"}}"#;
        let result = r#"{"id":7,"result":{"text":"session expired"}}"#;

        assert!(matches!(read(status, error), PostReading::Answer(Answer::Error(_))), "{status}");
        assert!(matches!(read(status, result), PostReading::Answer(Answer::Result(_))), "{status}");
    }
}

#[test]
fn who_stands_before_the_server_is_heard_before_an_error_and_never_before_a_result() {
    let error = r#"{"id":7,"error":{"code":-32000,"message":"slow down"}}"#;

    assert!(matches!(read(429, error), PostReading::Deferred { answer: Some(_), .. }));
    assert!(matches!(read(425, "wait"), PostReading::Deferred { answer: None, .. }));
    assert!(matches!(read(429, r#"{"id":7,"result":{}}"#), PostReading::Answer(_)));
    let mut head = head(401);
    head.challenge = Some(Challenge::credentials());
    let reading = read_with(&head, error, Carried::Session);
    assert!(matches!(reading, PostReading::Unauthorized { answer: Some(_), .. }));
}

#[test]
fn a_404_or_410_is_a_suspicion_only_of_a_request_that_carried_a_session() {
    for status in [404, 410] {
        assert!(matches!(read(status, ""), PostReading::Suspected(_)));
        for carried in [Carried::NoSession, Carried::Stateless, Carried::Handshake] {
            let reading = read_with(&head(status), "", carried);
            assert!(matches!(reading, PostReading::Rejected(..)), "{carried:?}");
        }
    }
}

#[test]
fn words_of_a_lost_session_are_a_suspicion_under_a_4xx_a_503_and_in_an_error() {
    for status in [400, 401, 402, 403, 404, 406, 409, 410, 422, 503] {
        assert!(matches!(read(status, "Session not found"), PostReading::Suspected(_)), "{status}");
    }
    for status in [500, 501, 502, 504, 520] {
        let is_suspected = matches!(read(status, "Session not found"), PostReading::Suspected(_));
        assert!(!is_suspected, "{status}");
    }
    let error = r#"{"id":7,"error":{"code":-32001,"message":"Session not found"}}"#;
    let PostReading::Suspected(suspicion) = read(200, error) else { panic!("not suspected") };
    assert_eq!(suspicion.code, Some(-32001));
    assert!(matches!(suspicion.otherwise, PostReading::Answer(_)));
    let result = r#"{"id":7,"result":{"text":"Session not found"}}"#;
    assert!(matches!(read(200, result), PostReading::Answer(_)));
}

/// A client behind a gateway began a session with the gateway after each of these.
#[test]
fn words_of_a_lost_session_in_the_report_of_a_gateway_are_about_another_server() {
    let report = r#"{"id":7,"error":{"code":-32000,"message":"server `a`: 404: Session not found","data":{"server":"a","mayHaveRun":true}}}"#;

    assert!(matches!(read(200, report), PostReading::Answer(_)));
    let other = report.replace("server\"", "other\"");
    assert!(matches!(read(200, &other), PostReading::Suspected(_)));
}

#[test]
fn a_server_without_session_ids_loses_a_session_only_by_saying_that_there_was_no_handshake() {
    let read = |words| read_with(&head(400), words, Carried::NoSession);

    assert!(matches!(read("Bad Request: Server not initialized"), PostReading::Suspected(_)));
    assert!(matches!(read("Session not found"), PostReading::Rejected(..)));
}

#[test]
fn a_401_with_a_challenge_is_never_a_lost_session() {
    let mut head = head(401);
    head.challenge = Some(Challenge::credentials());

    let reading = read_with(&head, "session expired", Carried::Session);

    assert!(matches!(reading, PostReading::Unauthorized { .. }));
}

#[test]
fn an_error_without_an_id_means_us_unless_it_comes_from_the_way_there() {
    let error = r#"{"id":null,"error":{"code":-32603,"message":"upstream"}}"#;

    assert!(matches!(read(400, error), PostReading::Answer(_)));
    assert!(matches!(read(500, error), PostReading::Answer(_)));
    for status in [408, 502, 503, 504, 520, 529] {
        assert!(matches!(read(status, error), PostReading::Interrupted { .. }), "{status}");
    }
}

#[test]
fn a_result_without_an_id_answers_nobody() {
    let result = r#"{"jsonrpc":"2.0","id":null,"result":{}}"#;

    assert!(matches!(read(200, result), PostReading::Misbehaved(_)));
    assert!(matches!(read(400, result), PostReading::Rejected(..)));
}

#[test]
fn an_answer_that_names_us_goes_before_one_without_an_id() {
    let body = r#"[{"id":null,"error":{"code":1,"message":"a"}},{"id":7,"result":{}}]"#;

    assert!(matches!(read(200, body), PostReading::Answer(Answer::Result(_))));
}

#[test]
fn a_refusal_confirms_another_only_with_the_code_of_an_error_that_named_us() {
    let suspicion = |body: &str| match read(404, body) {
        PostReading::Suspected(suspicion) => *suspicion,
        other => panic!("{other:?}"),
    };
    let named = suspicion(r#"{"id":7,"error":{"code":-32001,"message":"Session not found"}}"#);
    let other = suspicion(r#"{"id":7,"error":{"code":-32600,"message":"Session not found"}}"#);
    let bare = suspicion("");

    assert!(bare.is_confirmed_by(&named) && bare.is_confirmed_by(&bare));
    assert!(named.is_confirmed_by(&named));
    assert!(!named.is_confirmed_by(&bare) && !named.is_confirmed_by(&other));
}

#[test]
fn what_an_answer_says_about_a_session_is_what_a_call_would_read() {
    let read = |status, body: &'static str| session_loss(&head(status), &Bytes::from(body), 7);

    assert_eq!(read(404, ""), Loss::ByStatus);
    assert_eq!(read(400, "no valid session ID provided"), Loss::ByStatus);
    assert_eq!(read(400, "no"), Loss::None);
    assert_eq!(
        read(200, r#"{"id":7,"error":{"code":1,"message":"session expired"}}"#),
        Loss::ByWords
    );
    assert_eq!(read(404, r#"{"id":7,"error":{"code":-32601,"message":"no"}}"#), Loss::None);
    assert_eq!(read(200, r#"{"id":7,"result":{"text":"session expired"}}"#), Loss::None);
}

fn read(status: u16, body: &str) -> PostReading {
    read_with(&head(status), body, Carried::Session)
}

fn read_with(head: &AnswerHead, body: &str, carried: Carried) -> PostReading {
    let asked = Asked::own(7, carried);
    read_post(head, &Bytes::copy_from_slice(body.as_bytes()), asked).reading
}

fn head(status: u16) -> AnswerHead {
    AnswerHead::new(StatusCode::from_u16(status).unwrap(), Content::Json)
}
