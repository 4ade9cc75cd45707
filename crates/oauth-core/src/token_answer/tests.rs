use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_unix_secs(1_000_000);

fn answer(status: u16, body: &str) -> HttpAnswer {
    HttpAnswer::new(StatusCode::from_u16(status).unwrap(), body)
}

fn refreshed(status: u16, body: &str) -> Result<Tokens, TokenError> {
    read(&answer(status, body), Asked::RefreshToken, NOW)
}

fn expiry(value: &str) -> Option<u64> {
    let body = format!(r#"{{"access_token":"a","expires_in":{value}}}"#);
    refreshed(200, &body).unwrap().expires_at.map(|end| end.since(NOW).as_secs())
}

#[test]
fn an_expiry_is_absolute_and_read_however_it_is_written() {
    assert_eq!(expiry("3600"), Some(3600));
    assert_eq!(expiry("\"3600\""), Some(3600));
    assert_eq!(expiry("3599.9"), Some(3599));
    assert_eq!(expiry("0"), Some(0));
    assert_eq!(expiry("-5"), Some(0));
    assert_eq!(expiry("1e300"), Some(3_153_600_000));
    assert_eq!(expiry("null"), None);
    assert_eq!(expiry("\"soon\""), None);
    assert_eq!(expiry("\"NaN\""), None);
    assert_eq!(expiry("[]"), None);
}

#[test]
fn whatever_the_status_is_an_error_is_an_error() {
    for status in [200, 400, 401, 403] {
        let refusal = refreshed(status, r#"{"error":"invalid_grant","access_token":"a"}"#);

        assert!(matches!(refusal, Err(TokenError::GrantDead { .. })), "{status}");
    }
}

#[test]
fn a_server_in_trouble_ends_no_grant_whatever_it_says() {
    for status in [408, 429, 500, 502, 503] {
        let refusal = refreshed(status, r#"{"error":"invalid_grant"}"#);

        assert!(matches!(refusal, Err(TokenError::Transient { .. })), "{status}");
    }
    for body in ["<html>blocked</html>", "", "{", "ok", "[1]"] {
        let refusal = refreshed(400, body);

        assert!(matches!(refusal, Err(TokenError::Transient { .. })), "{body}");
    }
    let unavailable = refreshed(400, r#"{"error":"temporarily_unavailable"}"#);
    assert!(matches!(unavailable, Err(TokenError::Transient { .. })));
}

#[test]
fn a_wait_that_the_server_asks_for_is_told() {
    let wait = Duration::from_secs(9);
    let answer = answer(429, "").with_retry_after(wait);

    let refusal = read(&answer, Asked::RefreshToken, NOW);

    assert!(
        matches!(refusal, Err(TokenError::Transient { retry_after: Some(it), .. }) if it == wait)
    );
}

#[test]
fn each_error_of_the_device_flow_and_of_dpop_has_its_meaning() {
    let error = |code: &str| refreshed(400, &format!(r#"{{"error":"{code}"}}"#)).unwrap_err();

    assert_eq!(error("authorization_pending"), TokenError::AuthorizationPending);
    assert_eq!(error("slow_down"), TokenError::SlowDown);
    assert!(matches!(error("invalid_target"), TokenError::InvalidTarget { .. }));
    assert!(matches!(error("invalid_scope"), TokenError::InvalidScope { .. }));
    assert!(matches!(error("invalid_client"), TokenError::ClientDead { .. }));
    assert!(matches!(error("use_dpop_nonce"), TokenError::Refused { .. }));
    let answer = answer(400, r#"{"error":"use_dpop_nonce"}"#).with_dpop_nonce("n");
    let refusal = read(&answer, Asked::RefreshToken, NOW);
    assert_eq!(refusal, Err(TokenError::UseDpopNonce("n".into())));
}

#[test]
fn the_servers_words_are_bounded_and_plain() {
    let words = format!("a\\u001b[2J{}", "x".repeat(5000));
    let body = format!(r#"{{"error":"odd","error_description":"{words}"}}"#);

    let refusal = refreshed(400, &body).unwrap_err();

    let text = refusal.to_string();
    assert!(text.len() < 500 && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn a_token_that_no_header_carries_is_none() {
    for body in [
        r#"{"access_token":"a b"}"#,
        r#"{"access_token":"a\r\nX: y"}"#,
        r#"{"access_token":""}"#,
        r#"{"access_token":5}"#,
        r#"{}"#,
    ] {
        assert!(matches!(refreshed(200, body), Err(TokenError::Refused { .. })), "{body}");
    }
}

#[test]
fn a_megabyte_is_no_answer() {
    let body = format!(r#"{{"access_token":"a","x":"{}"}}"#, "x".repeat(1 << 20));

    assert!(matches!(refreshed(200, &body), Err(TokenError::Transient { .. })));
}

#[test]
fn a_revocation_is_done_with_200_whatever_stands_in_it() {
    assert_eq!(read_revocation(&answer(200, "<html>")), Ok(()));
    assert_eq!(read_revocation(&answer(200, "")), Ok(()));
    assert!(matches!(read_revocation(&answer(503, "")), Err(TokenError::Transient { .. })));
    assert!(matches!(read_revocation(&answer(400, "")), Err(TokenError::Refused { .. })));
}

#[test]
fn tokens_and_answers_never_print_themselves() {
    let body = r#"{"access_token":"s3cret","refresh_token":"r3fresh","id_token":"id3ntity"}"#;
    let answer = answer(200, body);

    let printed = format!("{answer:?} {:?}", read(&answer, Asked::RefreshToken, NOW));

    for secret in ["s3cret", "r3fresh", "id3ntity"] {
        assert!(!printed.contains(secret), "{printed}");
    }
}

fn member() -> impl Strategy<Value = String> {
    let names = prop_oneof![
        Just("access_token"),
        Just("refresh_token"),
        Just("expires_in"),
        Just("error"),
        Just("error_code"),
        Just("ok"),
        Just("authed_user"),
        Just("scope"),
    ];
    let values = prop_oneof![
        Just("null".to_owned()),
        Just("false".to_owned()),
        Just("{\"access_token\":\"x\"}".to_owned()),
        any::<f64>()
            .prop_filter("JSON has no NaN", |it| it.is_finite())
            .prop_map(|it| it.to_string()),
        "[a-z_]{0,12}".prop_map(|it| format!("\"{it}\"")),
    ];
    (names, values).prop_map(|(name, value)| format!("\"{name}\":{value}"))
}

proptest! {
    #[test]
    fn no_answer_is_too_odd_to_be_read(status in 100u16..600, body: Vec<u8>) {
        let answer = HttpAnswer::new(StatusCode::from_u16(status).unwrap(), body);

        let _ = read(&answer, Asked::RefreshToken, NOW);
    }

    #[test]
    fn only_a_known_word_ends_a_grant(
        status in 200u16..600,
        members in proptest::collection::vec(member(), 0..6),
    ) {
        let body = format!("{{{}}}", members.join(","));

        if let Err(TokenError::GrantDead { .. }) = refreshed(status, &body) {
            let known = ["invalid_grant", "refresh_token", "bad_verification"];
            prop_assert!(known.iter().any(|word| body.contains(word)), "{}", body);
        }
    }
}
