use super::*;

fn url(text: &str) -> HttpUrl {
    HttpUrl::parse(text).unwrap()
}

#[test]
fn only_https_and_http_on_this_machine_are_addresses() {
    for good in [
        "https://a.example",
        "https://a.example:8443/x?y=z",
        "http://localhost:3000/callback",
        "http://127.0.0.1:1/",
        "http://127.9.9.9/",
        "http://[::1]:9/",
        "HTTPS://A.EXAMPLE/",
    ] {
        assert!(HttpUrl::parse(good).is_ok(), "{good}");
    }
    for (bad, why) in [
        ("http://a.example/", AddressError::PlainHttp),
        ("http://192.168.0.1/", AddressError::PlainHttp),
        ("http://localhost.a.example/", AddressError::PlainHttp),
        ("http://a.localhost/", AddressError::PlainHttp),
        ("javascript:alert(1)", AddressError::Scheme),
        ("file:///etc/passwd", AddressError::Scheme),
        ("a:$(x)", AddressError::Scheme),
        ("ftp://a.example/", AddressError::Scheme),
        ("data:text/html,x", AddressError::Scheme),
        ("-flag", AddressError::NotAUrl),
        ("", AddressError::NotAUrl),
        ("//a.example/", AddressError::NotAUrl),
        ("https:a.example", AddressError::NotAUrl),
        ("https:///a.example", AddressError::NotAUrl),
        ("https://", AddressError::NotAUrl),
        ("https://u@a.example/", AddressError::UserInformation),
        ("https://u:p@a.example/", AddressError::UserInformation),
        ("https://@a.example/", AddressError::UserInformation),
        ("https://a.example/\n", AddressError::ForbiddenCharacter),
        ("https://a.ex\tample/", AddressError::ForbiddenCharacter),
        ("https://a.example/ b", AddressError::ForbiddenCharacter),
        ("https://a.example\\@b.example/", AddressError::ForbiddenCharacter),
        ("https://a.example/\u{0}", AddressError::ForbiddenCharacter),
    ] {
        assert_eq!(HttpUrl::parse(bad), Err(why), "{bad}");
    }
}

#[test]
fn a_megabyte_is_no_address() {
    let long = format!("https://a.example/{}", "a".repeat(1 << 20));

    assert_eq!(HttpUrl::parse(&long), Err(AddressError::TooLong));
}

#[test]
fn an_address_is_kept_byte_for_byte() {
    for text in ["https://a.example", "https://A.example:443/x", "https://a.example/%7Ea"] {
        assert_eq!(url(text).as_str(), text);
    }
}

#[test]
fn an_address_is_shown_without_its_query() {
    let url = url("https://a.example/x?key=s3cret#f");

    assert_eq!(format!("{url} {url:?}"), "https://a.example/x HttpUrl(https://a.example/x)");
    assert_eq!(url.without_query(), "https://a.example/x");
}

#[test]
fn equal_origins_have_equal_texts() {
    assert_eq!(url("https://A.example:443/x").origin(), url("https://a.example").origin());
    assert_ne!(url("https://a.example:8443").origin(), url("https://a.example").origin());
}

#[test]
fn a_resource_is_the_server_or_a_path_that_leads_to_it() {
    let server = url("https://a.example/mcp/v1?key=1");

    for good in [
        "https://a.example",
        "https://a.example/",
        "https://a.example/mcp",
        "https://a.example/mcp/",
        "https://a.example/mcp/v1",
        "https://a.example:443/mcp/v1/",
    ] {
        assert_eq!(check_resource(good, &server), Ok(()), "{good}");
    }
    for (bad, why) in [
        ("https://a.example/mc", AddressError::OtherPath),
        ("https://a.example/mcp/v1/x", AddressError::OtherPath),
        ("https://a.example/mcp/v12", AddressError::OtherPath),
        ("https://b.example/mcp", AddressError::OtherOrigin),
        ("https://a.example:8443/mcp", AddressError::OtherOrigin),
        ("https://a.example.b.example/mcp", AddressError::OtherOrigin),
        ("https://a.example/x/../mcp", AddressError::DotSegment),
        ("https://a.example/mcp/%2E%2e/mcp", AddressError::DotSegment),
        ("https://a.example/mcp?x=1", AddressError::QueryOrFragment),
        ("https://a.example/mcp#x", AddressError::QueryOrFragment),
        ("https://u@a.example/mcp", AddressError::UserInformation),
        ("urn:mcp", AddressError::Scheme),
    ] {
        assert_eq!(check_resource(bad, &server), Err(why), "{bad}");
    }
}

#[test]
fn a_public_server_cannot_point_us_at_what_is_closer_to_us() {
    let server = url("https://mcp.example/mcp");

    for near in [
        "https://169.254.169.254/latest",
        "https://[::ffff:169.254.169.254]/",
        "https://[::ffff:7f00:1]/",
        "https://10.0.0.1/token",
        "https://192.168.1.1/",
        "https://100.64.0.1/",
        "https://[fe80::1]/",
        "https://[fd00::1]/",
        "https://[64:ff9b::a00:1]/",
        "https://[2002:a00:1::]/",
        "https://0.0.0.0/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://localhost/",
        "https://127.0.0.1/",
    ] {
        let checked = url(near).check_endpoint_of(&server, NearHosts::Refused);
        assert_eq!(checked, Err(AddressError::NearHost), "{near}");
        assert_eq!(url(near).check_endpoint_of(&server, NearHosts::Allowed), Ok(()), "{near}");
    }
    for far in ["https://as.example/", "https://8.8.8.8/", "https://[2606:4700::1]/"] {
        assert_eq!(url(far).check_endpoint_of(&server, NearHosts::Refused), Ok(()), "{far}");
    }
}

#[test]
fn plain_http_is_for_servers_on_this_machine() {
    let near = url("http://127.0.0.1:9/token");

    assert_eq!(
        near.check_endpoint_of(&url("http://localhost:3000/mcp"), NearHosts::Refused),
        Ok(())
    );
    assert_eq!(
        near.check_endpoint_of(&url("https://mcp.example/mcp"), NearHosts::Allowed),
        Err(AddressError::PlainHttp)
    );
}

#[test]
fn well_known_names_stand_before_or_behind_the_path() {
    let issuer = url("https://a.example/tenant1/");
    let text = |url: Option<HttpUrl>| url.unwrap().as_str().to_owned();

    assert_eq!(
        text(issuer.well_known_before_path("oauth-authorization-server")),
        "https://a.example/.well-known/oauth-authorization-server/tenant1"
    );
    assert_eq!(
        text(issuer.well_known_after_path("openid-configuration")),
        "https://a.example/tenant1/.well-known/openid-configuration"
    );
    assert_eq!(
        text(url("https://a.example").well_known_before_path("x")),
        "https://a.example/.well-known/x"
    );
}

#[test]
fn a_query_is_added_to_the_one_that_is_there() {
    let with = |text: &str| url(text).with_query("b=2").unwrap().as_str().to_owned();

    assert_eq!(with("https://a.example/x"), "https://a.example/x?b=2");
    assert_eq!(with("https://a.example/x?a=1"), "https://a.example/x?a=1&b=2");
    assert_eq!(with("https://a.example/x?"), "https://a.example/x?b=2");
}
