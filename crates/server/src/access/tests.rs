use futures_util::FutureExt;
use http::HeaderValue;

use super::*;
use crate::verify::{HashedTokens, TokenHash};

#[test]
fn only_names_of_this_machine_are_let_in() {
    let access = access("127.0.0.1").allow_host("Box.local").unwrap();

    for host in [
        "localhost",
        "LOCALHOST:8808",
        "127.0.0.1:1",
        "127.9.9.9",
        "[::1]:8808",
        "box.local:80",
        "a.localhost",
        "localhost.",
    ] {
        assert_eq!(with_host(&access, host), Ok(()), "{host}");
    }
    for host in [
        "evil.example",
        "evil.example:8808",
        "192.168.0.7",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "",
        "localhost:8808@evil.example",
        "evil.example/localhost",
        "[::1",
        "[::2]",
        "::1",
        "local host",
    ] {
        assert_eq!(with_host(&access, host), Err(Closed::Host), "{host}");
    }
}

#[test]
fn who_listens_everywhere_is_reached_by_any_address_but_not_by_any_name() {
    assert_eq!(with_host(&access("0.0.0.0"), "192.168.0.7:8808"), Ok(()));
    assert_eq!(with_host(&access("192.168.0.7"), "192.168.0.7:8808"), Ok(()));
    assert_eq!(with_host(&access("192.168.0.7"), "192.168.0.8:8808"), Err(Closed::Host));
    assert_eq!(with_host(&access("0.0.0.0"), "evil.example"), Err(Closed::Host));
}

#[test]
fn an_address_can_be_allowed_as_a_name_can() {
    for (allowed, host) in [
        ("192.168.0.7", "192.168.0.7:8808"),
        ("fd00::7", "[fd00::7]:8808"),
        ("[FD00::7]", "[fd00:0::7]"),
    ] {
        let access = access("127.0.0.1").allow_host(allowed).unwrap();

        assert_eq!(with_host(&access, host), Ok(()), "{allowed}");
        assert_eq!(with_host(&access, "192.168.0.8"), Err(Closed::Host), "{allowed}");
    }
}

#[test]
fn what_could_never_be_let_in_cannot_be_allowed() {
    for host in ["box.local:8808", "http://box.local", "box.local/mcp", "", "[box]", "bücher.local"]
    {
        assert_eq!(access("127.0.0.1").allow_host(host).err(), Some(NotAHost), "{host}");
    }
    for origin in ["app.example", "https://", "https://app.example/x", "://x", "*", "1://x"] {
        let refused = access("127.0.0.1").allow_origin(origin).err();
        assert_eq!(refused, Some(NotAnOrigin), "{origin}");
    }
    for (allowed, origin) in [
        ("https://app.example:443", "https://app.example"),
        ("http://app.example:80/", "http://app.example"),
        ("http://app.example:8080", "http://app.example:8080"),
        ("vscode-webview://1ab-2", "vscode-webview://1ab-2"),
        ("null", "null"),
    ] {
        let access = access("127.0.0.1").allow_origin(allowed).unwrap();
        assert!(access.knows_origin(origin), "{allowed}");
    }
}

#[test]
fn no_host_and_a_second_host_are_refused() {
    let (access, uri) = (access("127.0.0.1"), Uri::from_static("/mcp"));
    let mut two = HeaderMap::new();
    two.append(HOST, HeaderValue::from_static("localhost"));
    two.append(HOST, HeaderValue::from_static("evil.example"));
    let local = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost"))]);

    assert_eq!(access.check_place(&uri, &HeaderMap::new()), Err(Closed::Host));
    assert_eq!(access.check_place(&uri, &two), Err(Closed::Host));
    let elsewhere = Uri::from_static("http://evil.example/mcp");
    assert_eq!(access.check_place(&elsewhere, &local), Err(Closed::Host));
}

#[test]
fn pages_of_other_origins_are_refused() {
    let access = access("127.0.0.1").allow_origin("https://App.example/").unwrap();
    let from = |origin: &'static str| {
        let headers = HeaderMap::from_iter([
            (HOST, HeaderValue::from_static("localhost")),
            (ORIGIN, HeaderValue::from_static(origin)),
        ]);
        access.check_place(&Uri::from_static("/mcp"), &headers)
    };

    for origin in
        ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:80", "https://app.example"]
    {
        assert_eq!(from(origin), Ok(()), "{origin}");
    }
    for origin in [
        "null",
        "",
        "https://evil.example",
        "http://app.example",
        "https://localhost.evil.example",
        "file://localhost",
        "http://localhost:1@evil.example",
    ] {
        assert_eq!(from(origin), Err(Closed::Origin), "{origin}");
    }
}

#[test]
fn the_token_must_be_shown_and_right() {
    let access = AccessPolicy::new([127, 0, 0, 1].into(), Token::new("s3cret").ok());
    let hashed = HashedTokens::default();
    let ada = Token::new("4da").unwrap();
    hashed.set([(TokenHash::of_token(&ada), Principal::new("ada"))]);
    let access = access.verify_with(hashed);

    assert_eq!(shown(&access, &[]), Err(Closed::NoToken));
    let owner = Ok(Principal::owner());
    assert_eq!(shown(&access, &[("authorization", "Bearer s3cret")]), owner);
    assert_eq!(shown(&access, &[("authorization", "bearer  s3cret")]), owner);
    let ada = Ok(Principal::new("ada"));
    assert_eq!(shown(&access, &[("authorization", "Bearer 4da")]), ada);
    for value in ["Bearer wrong", "Bearer ", "Bearer", "Basic s3cret", "s3cret"] {
        let refused = shown(&access, &[("authorization", value)]);
        assert_eq!(refused, Err(Closed::WrongToken(None)), "{value}");
    }
    let only_hashed = self::access("127.0.0.1").verify_with(HashedTokens::default());
    assert_eq!(shown(&only_hashed, &[]), Err(Closed::NoToken), "it is not open");
    let two = [("authorization", "Bearer s3cret"), ("authorization", "Bearer 4da")];
    assert_eq!(shown(&access, &two), Err(Closed::WrongToken(None)));
}

/// Behind a proxy on this machine everybody would seem to be on this machine.
#[test]
fn without_a_token_nobody_comes_through_a_proxy() {
    let open = access("127.0.0.1");

    assert_eq!(shown(&open, &[]), Ok(Principal::anybody()));
    for header in ["forwarded", "x-forwarded-for", "x-real-ip"] {
        assert_eq!(shown(&open, &[(header, "10.0.0.1")]), Err(Closed::Forwarded), "{header}");
    }
}

fn shown(
    access: &AccessPolicy,
    headers: &[(&'static str, &'static str)],
) -> Result<Principal, Closed> {
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        all.append(*name, HeaderValue::from_static(value));
    }
    let checked = access.check_token(&all).now_or_never().unwrap();
    checked.map(|it| it.principal)
}

fn access(address: &str) -> AccessPolicy {
    AccessPolicy::new(address.parse().unwrap(), None)
}

fn with_host(access: &AccessPolicy, host: &'static str) -> Result<(), Closed> {
    let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]);
    access.check_place(&Uri::from_static("/mcp"), &headers)
}
