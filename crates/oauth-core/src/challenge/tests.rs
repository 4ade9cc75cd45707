use http::HeaderValue;
use proptest::prelude::*;

use super::*;

fn read(lines: &[&str]) -> Challenges {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(WWW_AUTHENTICATE, HeaderValue::from_str(line).unwrap());
    }
    Challenges::read(&headers)
}

fn schemes(lines: &[&str]) -> Vec<Scheme> {
    read(lines).iter().map(|it| it.scheme).collect()
}

#[test]
fn every_challenge_of_every_line_is_read() {
    let read = read(&[
        r#"Basic realm="a", Bearer realm="b", scope="x y", error="invalid_token""#,
        r#"DPoP algs="ES256 PS256", resource_metadata="https://a.example/prm""#,
    ]);

    assert_eq!(read.iter().count(), 3);
    assert_eq!(read.scope(), Some("x y"));
    assert_eq!(read.resource_metadata(), Some("https://a.example/prm"));
    assert_eq!(read.iter().last().unwrap().algs.as_deref(), Some("ES256 PS256"));
}

#[test]
fn a_quoted_text_holds_no_challenge() {
    let read = read(&[r#"Bearer realm="a\", scope=\"x\", Basic", error="b\\""#]);

    assert_eq!(read.iter().count(), 1);
    assert_eq!(read.scope(), None);
    let bearer = read.iter().next().unwrap();
    assert_eq!(bearer.realm.as_deref(), Some(r#"a", scope="x", Basic"#));
    assert_eq!(bearer.error.as_deref(), Some(r"b\"));
}

#[test]
fn a_scope_of_another_scheme_is_not_ours() {
    assert_eq!(read(&[r#"Digest scope="x", Bearer"#]).scope(), None);
}

#[test]
fn schemes_without_parameters_and_with_bare_texts_are_told_apart() {
    use Scheme::{Bearer, Dpop, Other};

    assert_eq!(schemes(&["Bearer"]), [Bearer]);
    assert_eq!(schemes(&["Negotiate, Bearer"]), [Other, Bearer]);
    assert_eq!(schemes(&["Negotiate YII=, bearer scope=x"]), [Other, Bearer]);
    assert_eq!(schemes(&["NTLM TlRM/a+b==,DPOP"]), [Other, Dpop]);
    assert_eq!(schemes(&[",, Bearer ,"]), [Bearer]);
    assert_eq!(schemes(&["", "=x, \"Bearer\""]), []);
}

#[test]
fn values_without_quotes_and_with_spaces_around_the_sign_are_read() {
    let read = read(&["Bearer resource_metadata=https://a.example/x?y=z , scope = \"a\""]);

    assert_eq!(read.resource_metadata(), Some("https://a.example/x?y=z"));
    assert_eq!(read.scope(), Some("a"));
}

#[test]
fn a_demand_follows_the_error_before_the_status() {
    let forbidden = StatusCode::FORBIDDEN;
    let more = r#"Bearer error="insufficient_scope", scope="a b""#;
    let expired = r#"Bearer error="invalid_token""#;

    assert_eq!(read(&[]).demand(StatusCode::UNAUTHORIZED), Some(Demand::Token));
    assert_eq!(read(&[]).demand(forbidden), None);
    assert_eq!(read(&["Bearer"]).demand(forbidden), None);
    assert_eq!(read(&[expired]).demand(forbidden), Some(Demand::Token));
    assert_eq!(
        read(&[more]).demand(forbidden),
        Some(Demand::MoreScope(ScopeSet::from_text("a b")))
    );
}

#[test]
fn a_nonce_is_demanded_only_with_its_header() {
    let mut headers = HeaderMap::new();
    headers.append(WWW_AUTHENTICATE, HeaderValue::from_static("DPoP error=\"use_dpop_nonce\""));
    assert_eq!(Challenges::read(&headers).demand(StatusCode::UNAUTHORIZED), Some(Demand::Token));

    headers.append("DPoP-Nonce", HeaderValue::from_static("n1"));

    let demand = Challenges::read(&headers).demand(StatusCode::UNAUTHORIZED);
    assert_eq!(demand, Some(Demand::DpopNonce("n1".into())));
}

fn challenge() -> impl Strategy<Value = Challenge> {
    let text = || proptest::option::of("[ -~]{0,20}");
    let scheme = prop_oneof![Just(Scheme::Bearer), Just(Scheme::Dpop), Just(Scheme::Other)];
    (scheme, text(), text(), text(), text(), text(), text()).prop_map(
        |(scheme, realm, scope, error, error_description, resource_metadata, algs)| Challenge {
            scheme,
            realm,
            scope,
            error,
            error_description,
            resource_metadata,
            algs,
        },
    )
}

proptest! {
    #[test]
    fn challenges_read_as_they_were_written(
        challenges in proptest::collection::vec(challenge(), 0..5),
        is_one_line: bool,
    ) {
        let lines: Vec<String> = challenges.iter().map(ToString::to_string).collect();
        let lines = if is_one_line { vec![lines.join(", ")] } else { lines };
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();

        let read: Vec<Challenge> = read(&lines).iter().cloned().collect();

        prop_assert_eq!(read, challenges);
    }

    #[test]
    fn no_line_is_too_odd_to_be_read(line in "[ -~\u{80}-\u{ff}]{0,200}", bytes: Vec<u8>) {
        let mut headers = HeaderMap::new();
        headers.extend(HeaderValue::from_str(&line).map(|it| (WWW_AUTHENTICATE, it)));
        headers.extend(HeaderValue::from_bytes(&bytes).map(|it| (WWW_AUTHENTICATE, it)));

        prop_assert!(Challenges::read(&headers).iter().count() <= MOST);
    }
}
