mod web;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::http_answer::HttpAnswer;
use web::{Web, prm, prm_with, server};

const PATH_PRM: &str = "https://mcp.example/.well-known/oauth-protected-resource/mcp";
const ROOT_PRM: &str = "https://mcp.example/.well-known/oauth-protected-resource";
const AS: &str = "https://as.example/.well-known/oauth-authorization-server";
const OIDC: &str = "https://as.example/.well-known/openid-configuration";

#[test]
fn the_challenges_url_is_asked_first_and_no_other_if_it_answers() {
    let mut web = Web::default();
    web.json("https://mcp.example/custom", prm("https://mcp.example/mcp"));
    web.json(AS, server("https://as.example"));

    let (found, asked) = web.discover(Some("https://mcp.example/custom"), Default::default());

    assert_eq!(asked, ["https://mcp.example/custom", AS]);
    assert_eq!(found.unwrap().resource.as_deref(), Some("https://mcp.example/mcp"));
}

#[test]
fn without_a_challenge_the_path_is_asked_before_the_root() {
    let mut web = Web::default();
    web.json(ROOT_PRM, prm("https://mcp.example"));
    web.json(OIDC, server("https://as.example"));

    let (found, asked) = web.discover(None, Default::default());

    assert_eq!(asked, [PATH_PRM, ROOT_PRM, AS, OIDC]);
    // Without a path, and byte for byte: no slash is added.
    assert_eq!(found.unwrap().resource.as_deref(), Some("https://mcp.example"));
}

#[test]
fn an_issuer_with_a_path_has_three_places_and_the_root_is_none_of_them() {
    let mut web = Web::default();
    web.json(PATH_PRM, prm_with("https://mcp.example/mcp", &["https://as.example/tenant1"]));
    web.json(AS, server("https://as.example"));

    let (found, asked) = web.discover(None, Default::default());

    assert_eq!(
        asked[1..],
        [
            "https://as.example/.well-known/oauth-authorization-server/tenant1",
            "https://as.example/.well-known/openid-configuration/tenant1",
            "https://as.example/tenant1/.well-known/openid-configuration",
        ]
    );
    assert_eq!(found.unwrap_err().failure, DiscoveryFailure::NoMetadata);
}

#[test]
fn pages_and_refusals_at_well_known_places_lead_to_the_next_one() {
    for status in [200, 301, 401, 403, 404, 406] {
        let mut web = Web::default();
        web.answer(PATH_PRM, status, "<!doctype html><title>App</title>");
        web.answer(AS, status, "<!doctype html><title>App</title>");
        web.json(ROOT_PRM, prm("https://mcp.example/mcp"));
        web.json(OIDC, server("https://as.example"));

        assert!(web.discover(None, Default::default()).0.is_ok(), "{status}");
    }
}

#[test]
fn a_resource_that_is_not_the_server_ends_the_discovery_before_its_issuer_is_asked() {
    let mut web = Web::default();
    web.json(PATH_PRM, prm("https://victim.example/mcp"));
    web.json(ROOT_PRM, prm("https://mcp.example/mcp"));

    let (found, asked) = web.discover(None, Default::default());

    assert_eq!(asked, [PATH_PRM]);
    let error = found.unwrap_err().to_string();
    assert!(error.contains("`https://victim.example/mcp`"), "{error}");
    assert!(error.contains("`https://mcp.example/mcp`"), "{error}");
}

#[test]
fn a_foreign_resource_that_the_person_configured_is_accepted() {
    let mut web = Web::default();
    web.json(PATH_PRM, prm("https://other.example/mcp"));
    web.json(AS, server("https://as.example"));
    let resource = ResourceParameter::Given("https://other.example/mcp".to_owned());

    let settings = DiscoverySettings { resource, ..Default::default() };

    let found = web.discover(None, settings).0.unwrap();
    assert_eq!(found.resource.as_deref(), Some("https://other.example/mcp"));
}

#[test]
fn a_resource_that_is_not_sent_is_checked_all_the_same() {
    let mut web = Web::default();
    web.json(PATH_PRM, prm("https://mcp.example/mcp"));
    web.json(AS, server("https://as.example"));
    let settings =
        || DiscoverySettings { resource: ResourceParameter::NotSent, ..Default::default() };

    assert_eq!(web.discover(None, settings()).0.unwrap().resource, None);
    web.json(PATH_PRM, prm("https://other.example/mcp"));
    assert!(web.discover(None, settings()).0.is_err());
}

#[test]
fn a_document_of_another_issuer_is_not_used_unless_that_issuer_is_trusted() {
    let mut web = Web::default();
    web.json(PATH_PRM, prm("https://mcp.example/mcp"));
    web.json(AS, server("https://other.example"));
    let trusted = Some("https://other.example".to_owned());

    let refused = web.discover(None, Default::default()).0.unwrap_err();
    let settings = DiscoverySettings { trusted_issuer: trusted, ..Default::default() };
    let found = web.discover(None, settings).0.unwrap();

    let mismatch = DiscoveryFailure::IssuerMismatch {
        expected: "https://as.example".into(),
        found: "https://other.example".into(),
    };
    assert_eq!(refused.failure, mismatch);
    assert_eq!(found.server.issuer, "https://other.example");
}

#[test]
fn a_slash_that_only_the_resource_writes_does_not_matter_and_any_other_does() {
    for (listed, issuer, is_ok) in [
        ("https://as.example/", "https://as.example", true),
        ("https://as.example/", "https://as.example/", true),
        ("https://as.example", "https://as.example/", false),
        ("https://as.example", "https://AS.example", false),
        ("https://as.example", "https://as.example:443", false),
    ] {
        let mut web = Web::default();
        web.json(PATH_PRM, prm_with("https://mcp.example/mcp", &[listed]));
        web.json(AS, server(issuer));

        let found = web.discover(None, Default::default()).0;

        assert_eq!(found.is_ok(), is_ok, "{listed} {issuer}");
    }
}

#[test]
fn without_s256_the_next_document_is_tried_and_then_the_login_is_refused() {
    let mut without = server("https://as.example");
    without.as_object_mut().unwrap().remove("code_challenge_methods_supported");
    let mut web = Web::default();
    web.json(PATH_PRM, prm("https://mcp.example/mcp"));
    web.json(AS, without);
    let assumed = || DiscoverySettings { pkce: PkceRule::Assumed, ..Default::default() };

    assert_eq!(
        web.discover(None, Default::default()).0.unwrap_err().failure,
        DiscoveryFailure::NoPkce
    );
    assert!(web.discover(None, assumed()).0.is_ok());
    web.json(OIDC, server("https://as.example"));
    assert!(web.discover(None, Default::default()).0.is_ok());
}

#[test]
fn pkce_is_not_assumed_against_a_document_that_lists_plain_only() {
    let mut plain = server("https://as.example");
    plain["code_challenge_methods_supported"] = json!(["plain"]);
    let mut web = Web::default();
    web.json(PATH_PRM, prm("https://mcp.example/mcp"));
    web.json(AS, plain);

    let settings = DiscoverySettings { pkce: PkceRule::Assumed, ..Default::default() };

    assert_eq!(web.discover(None, settings).0.unwrap_err().failure, DiscoveryFailure::NoPkce);
}

#[test]
fn the_issuer_of_the_last_login_is_preferred_and_else_the_first_that_is_usable() {
    let issuers =
        ["file:///x", "https://gone.example", "https://as.example", "https://two.example"];
    let mut web = Web::default();
    web.json(PATH_PRM, prm_with("https://mcp.example/mcp", &issuers));
    web.json(AS, server("https://as.example"));
    let two = "https://two.example/.well-known/oauth-authorization-server";
    web.json(two, server("https://two.example"));
    let recorded = Some("https://two.example".to_owned());

    let first = web.discover(None, Default::default()).0.unwrap();
    let settings = DiscoverySettings { recorded_issuer: recorded, ..Default::default() };
    let preferred = web.discover(None, settings).0.unwrap();

    assert_eq!(first.server.issuer, "https://as.example");
    assert_eq!(preferred.server.issuer, "https://two.example");
}

#[test]
fn a_server_of_2025_03_26_has_its_metadata_at_the_origin() {
    let place = "https://mcp.example/.well-known/oauth-authorization-server";
    for issuer in ["https://mcp.example", "https://mcp.example/"] {
        let mut web = Web::default();
        web.json(place, server(issuer));

        let (found, asked) = web.discover(None, Default::default());

        assert_eq!(asked, [PATH_PRM, ROOT_PRM, place]);
        assert_eq!(found.unwrap().server.issuer, issuer);
    }
}

#[test]
fn a_server_that_publishes_nothing_has_default_paths_and_no_resource() {
    let found = Web::default().discover(None, Default::default()).0.unwrap();

    assert_eq!(found.resource, None);
    assert_eq!(found.server.token_endpoint.as_str(), "https://mcp.example/token");
    let authorize = found.server.authorization_endpoint.unwrap();
    assert_eq!(authorize.as_str(), "https://mcp.example/authorize");
}

#[test]
fn a_server_in_trouble_is_not_taken_for_one_without_metadata() {
    for (place, status) in [(PATH_PRM, 503), (ROOT_PRM, 429), (PATH_PRM, 500)] {
        let mut web = Web::default();
        web.answer(place, status, "");

        let error = web.discover(None, Default::default()).0.unwrap_err();

        assert!(error.is_transient(), "{error}");
    }
    let mut web = Web::default();
    web.json(PATH_PRM, prm("https://mcp.example/mcp"));
    web.pages.insert(AS.to_owned(), Fetched::Failure("timed out".into()));
    let error = web.discover(None, Default::default()).0.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("timed out"), "{error}");
}

/// The resource may name another issuer as soon as it answers again.
#[test]
fn while_a_server_is_in_trouble_its_origin_is_not_taken_for_the_issuer() {
    let mut web = Web::default();
    web.answer(PATH_PRM, 503, "");
    let origin = "https://mcp.example/.well-known/oauth-authorization-server";
    web.json(origin, server("https://mcp.example"));

    let (found, asked) = web.discover(None, Default::default());

    assert!(found.unwrap_err().is_transient());
    assert_eq!(asked, [PATH_PRM, ROOT_PRM]);
}

#[test]
fn an_endpoint_that_must_not_be_used_is_named_with_the_reason() {
    let mut plain = server("https://as.example");
    plain["token_endpoint"] = "http://as.example/token".into();
    let mut web = Web::default();
    web.json(PATH_PRM, prm("https://mcp.example/mcp"));
    web.json(AS, plain);

    let error = web.discover(None, Default::default()).0.unwrap_err().to_string();

    assert!(error.contains("`token_endpoint` cannot be used: it is plain http"), "{error}");
}

#[test]
fn an_error_names_every_url_and_what_it_said() {
    let mut web = Web::default();
    web.json(PATH_PRM, prm("https://mcp.example/mcp"));
    web.answer(OIDC, 200, "<html>");

    let error = web.discover(Some("javascript:x"), Default::default()).0.unwrap_err();

    assert_eq!(
        error.to_string(),
        "no metadata of an authorization server was found; tried `javascript:x` (not asked: its scheme is \
         neither https nor http), `https://as.example/.well-known/oauth-authorization-server` (404 Not \
         Found), `https://as.example/.well-known/openid-configuration` (no such document: it is no JSON object)"
    );
}

/// With the well-known name added it is longer than any URL may be.
#[test]
fn an_issuer_of_the_greatest_length_is_passed_over() {
    let issuer = format!("https://as.example/{}", "a".repeat(16 * 1024 - 19));
    let mut web = Web::default();
    web.json(PATH_PRM, prm_with("https://mcp.example/mcp", &[&issuer]));

    let error = web.discover(None, Default::default()).0.unwrap_err();

    assert_eq!(error.failure, DiscoveryFailure::NoMetadata);
}

#[test]
fn late_and_foreign_answers_change_nothing() {
    let server = HttpUrl::parse("https://mcp.example/mcp").unwrap();
    let mut discovery = Discovery::new(server, &Challenges::default(), Default::default());
    let foreign = HttpUrl::parse("https://mcp.example/other").unwrap();

    discovery.handle(&foreign, &Fetched::Failure("late".into()));

    assert!(matches!(discovery.step(), Step::Get(url) if url.as_str() == PATH_PRM));
}

fn fetched() -> impl Strategy<Value = Fetched> {
    let issuers = [
        "https://as.example",
        "https://b.example/x",
        "https://c.example/",
        "x",
        "https://d",
        "https://e",
    ];
    let bodies = prop_oneof![
        Just(prm_with("https://mcp.example", &issuers).to_string()),
        Just(prm_with("https://other.example", &issuers).to_string()),
        Just(server("https://as.example").to_string()),
        Just(server("https://c.example").to_string()),
        "\\PC{0,20}",
    ];
    let statuses = prop_oneof![3 => Just(200u16), 1 => Just(404), 1 => Just(503), 1 => Just(302)];
    let answers = (statuses, bodies).prop_map(|(status, body)| {
        Fetched::Answer(HttpAnswer::new(StatusCode::from_u16(status).unwrap(), body))
    });
    prop_oneof![9 => answers, 1 => Just(Fetched::Failure("reset".into()))]
}

proptest! {
    #[test]
    fn a_discovery_ends_after_three_and_twelve_questions_at_most(
        answers in proptest::collection::vec(fetched(), 16),
    ) {
        let url = HttpUrl::parse("https://mcp.example/mcp").unwrap();
        let mut discovery = Discovery::new(url, &Challenges::default(), Default::default());
        let mut asked = 0;
        for answer in answers {
            let Step::Get(url) = discovery.step() else { break };
            let url = url.clone();
            discovery.handle(&url, &answer);
            asked += 1;
        }

        prop_assert!(asked <= 15);
        if let Step::Found(found) = discovery.step() {
            let known = ["https://as.example", "https://c.example", "https://mcp.example"];
            prop_assert!(known.contains(&found.server.issuer.as_str()));
        }
    }
}
