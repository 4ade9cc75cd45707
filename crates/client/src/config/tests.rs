//! What a builder refuses, and what it never shows.

use ridethrough_core::Era;

use super::*;

#[tokio::test]
async fn a_builder_names_everything_that_is_wrong_at_once() {
    let error = Client::builder("ftp://example.com/?key=s3cret")
        .client_info(serde_json::json!([]))
        .header("Mcp-Session-Id", "x")
        .header("x y", "z")
        .header("Authorization", "Bearer s3cret")
        .header("x-key", "s3cret\n")
        .root_certificates("nothing")
        .connect_timeout(Duration::ZERO)
        .message_limit(1)
        .build()
        .unwrap_err()
        .to_string();

    assert_eq!(
        error.split("; ").collect::<Vec<_>>(),
        [
            "`url` is `ftp://example.com/`, must begin with http:// or https://",
            "`header` is `mcp-session-id`, must be one that the client does not set itself",
            "`header` is named `x y`, must be the name of a header",
            "`header` is `authorization`, must be given by `credentials`, which can also renew it: `StaticToken::new(..)`, \
             or `Token::authorization(..)`",
            "the value of header `x-key` must be visible ASCII",
            "`root_certificates` must be PEM with a certificate in it",
            "`client_info` is JSON of another kind, must be an object",
            "`connect_timeout` is 0ns, must be 1ms to 300s",
            "`message_limit` is 1, must be 1024 to 1073741824",
        ]
    );
}

#[test]
fn a_revision_pins_its_era_unless_eras_are_said() {
    let builder = || Client::builder("http://example.com/");
    let spoken = |builder: ClientBuilder| builder.spoken();

    assert_eq!(spoken(builder()), Eras::Either);
    assert_eq!(spoken(builder().revision(Version::V2025_06_18)), Eras::Only(Era::Legacy));
    assert_eq!(spoken(builder().revision(Version::V2026_07_28)), Eras::Only(Era::Modern));
    assert_eq!(spoken(builder().eras(Era::Modern)), Eras::Only(Era::Modern));
    assert_eq!(spoken(builder().revision(Version::V2025_06_18).eras(Eras::Either)), Eras::Either);
}

/// A program that does not answer unknown requests would cost a timeout at each start.
#[test]
fn a_local_server_is_not_asked_for_its_era_unless_eras_are_said() {
    let builder = || ClientBuilder::spawn(crate::Command::new("server"));

    assert_eq!(builder().spoken(), Eras::Only(Era::Legacy));
    assert_eq!(builder().eras(Eras::Either).spoken(), Eras::Either);
}

#[tokio::test]
async fn a_builder_never_shows_a_password_or_a_query() {
    for url in [
        "http://user:s3cret@a.example/",
        "http://u:s3cret@a b/",
        "u:s3cret@a",
        "x?s3cret",
        "http://u:s3cret?x@a",
        "http://u:s/s3cret@a",
        "u:s3cret://x@a",
    ] {
        let error = Client::new(url).unwrap_err().to_string();

        assert!(error.starts_with("`url` is ") && !error.contains("s3cret"), "{error}");
    }
}

#[tokio::test]
async fn a_builder_refuses_a_limit_that_leaves_no_connection_for_a_call() {
    let error = Client::builder("http://example.com/").connection_limit(4).build().unwrap_err();

    assert_eq!(error.to_string(), "`connection_limit` is 4, must be 5 to 65536");
    assert!(Client::builder("http://example.com/").connection_limit(5).build().is_ok());
}

#[tokio::test]
async fn a_builder_names_what_is_wrong_with_a_proxy_and_never_its_password() {
    for (url, fault) in [
        ("socks5://u:s3cret@a:1080", "`proxy` is `socks5://a:1080`, must be an HTTP proxy"),
        ("ftp://u:s3cret@a", "`proxy` is `ftp://a`, must begin with"),
        ("http://u:s3cret@a b", "`proxy` is `http://a b`, must be the URL of a proxy"),
        ("http://u:s3/s3cret@a", "`proxy` is `http://...`, must be the URL of a proxy"),
        ("http://u:s?s3cret@a", "`proxy` is `http://...`, must be the URL of a proxy"),
    ] {
        let builder = Client::builder("https://example.com/").proxy(url);

        assert!(!format!("{builder:?}").contains("s3cret"));
        let error = builder.build().unwrap_err().to_string();
        assert!(error.starts_with(fault) && !error.contains("s3cret"), "{error}");
    }
}

#[tokio::test]
async fn a_builder_names_what_is_wrong_with_a_client_certificate_and_never_its_key() {
    let authority = ridethrough_lab::Authority::new();
    let (chain, key) = authority.client_pem();
    let (_, another) = authority.client_pem();
    let broken = "-----BEGIN PRIVATE KEY-----\nczNjcmV0\n-----END PRIVATE KEY-----\n";
    for (chain, key, fault) in [
        ("none", &*key, "the chain of `client_certificate` must be PEM"),
        (&*chain, "s3cret", "the key of `client_certificate` must be PEM"),
        (&*chain, &*chain, "the key of `client_certificate` must be PEM"),
        (&*chain, broken, "`client_certificate` does not fit its key"),
        (&*chain, &*another, "`client_certificate` does not fit its key"),
    ] {
        let builder = Client::builder("https://example.com/").client_certificate(chain, key);

        let error = builder.build().unwrap_err().to_string();

        assert!(error.starts_with(fault), "{error}");
        assert!(!error.contains("s3cret") && !error.contains("czNjcmV0"), "{error}");
    }
}

#[test]
fn a_client_outside_a_runtime_is_refused_and_does_not_panic() {
    let error = Client::builder("http://example.com/").build().unwrap_err();

    assert_eq!(error.to_string(), "`build` was called outside a tokio runtime");
}
