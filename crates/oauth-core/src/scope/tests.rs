use super::*;

fn server(issuer: &str, scopes: Option<&[&str]>) -> AuthorizationServer {
    let mut document = serde_json::json!({
        "issuer": issuer,
        "authorization_endpoint": "https://as.example/authorize",
        "token_endpoint": "https://as.example/token",
    });
    if let Some(scopes) = scopes {
        document["scopes_supported"] = serde_json::json!(scopes);
    }
    AuthorizationServer::from_json(&document.to_string()).unwrap()
}

fn plain() -> AuthorizationServer {
    server("https://as.example", None)
}

fn chosen(sources: ScopeSources<'_>, server: &AuthorizationServer) -> Option<String> {
    ScopeRequest::choose(sources, server).scopes.to_text()
}

#[test]
fn the_person_comes_before_the_challenge_and_that_before_the_list() {
    let configured = ScopeSet::from_text("mine");
    let listed = ["listed".to_owned()];
    let mut sources = ScopeSources {
        configured: Some(&configured),
        challenge: Some("asked"),
        resource: Some(&listed),
    };

    assert_eq!(chosen(sources, &plain()).as_deref(), Some("mine"));
    sources.configured = None;
    assert_eq!(chosen(sources, &plain()).as_deref(), Some("asked"));
    sources.challenge = None;
    assert_eq!(chosen(sources, &plain()).as_deref(), Some("listed"));
    sources.resource = None;
    assert_eq!(chosen(sources, &plain()), None);
}

#[test]
fn an_empty_list_sends_no_scope() {
    let sources = ScopeSources { resource: Some(&[]), ..ScopeSources::default() };

    assert_eq!(chosen(sources, &plain()), None);
}

#[test]
fn offline_access_is_asked_for_only_where_the_authorization_server_lists_it() {
    let listed = ["a".to_owned(), "offline_access".to_owned()];
    let sources = ScopeSources { resource: Some(&listed), ..ScopeSources::default() };
    let challenge = ScopeSources { challenge: Some("a"), ..ScopeSources::default() };
    let offline = server("https://as.example", Some(&["a", "offline_access"]));

    assert_eq!(chosen(sources, &plain()).as_deref(), Some("a"));
    assert_eq!(
        chosen(challenge, &server("https://as.example", Some(&["a"]))).as_deref(),
        Some("a")
    );
    let request = ScopeRequest::choose(challenge, &offline);
    assert_eq!(request.scopes.to_text().as_deref(), Some("a offline_access"));
    assert_eq!(request.parameters, [("prompt", "consent")]);
}

#[test]
fn offline_access_never_stands_alone() {
    let offline = server("https://as.example", Some(&["offline_access"]));

    assert_eq!(ScopeRequest::choose(ScopeSources::default(), &offline), ScopeRequest::default());
}

#[test]
fn google_is_asked_for_a_refresh_token_in_its_own_way() {
    let google = server("https://accounts.google.com", None);

    let request = ScopeRequest::choose(ScopeSources::default(), &google);

    assert_eq!(request.parameters, [("access_type", "offline"), ("prompt", "consent")]);
}

#[test]
fn a_step_up_keeps_what_was_requested() {
    let requested = ScopeSet::from_text("mcp:basic a");

    let step = StepUps::default().demand(
        ("r", "tools/call x"),
        &requested,
        &ScopeSet::from_text("mcp:write a"),
    );

    assert_eq!(step, StepUp::Authorize(ScopeSet::from_text("mcp:basic a mcp:write")));
}

#[test]
fn an_operation_costs_three_authorizations_at_most() {
    let mut steps = StepUps::default();
    let mut requested = ScopeSet::default();
    let mut authorizations = 1;
    for number in 0..10 {
        let demanded = ScopeSet::from_text(&format!("s{number}"));
        if let StepUp::Authorize(scopes) = steps.demand(("r", "o"), &requested, &demanded) {
            requested = scopes;
            authorizations += 1;
        }
    }

    assert_eq!(authorizations, 3);
    let other = steps.demand(("r", "other"), &requested, &ScopeSet::from_text("x"));
    assert!(matches!(other, StepUp::Authorize(_)));
}

#[test]
fn a_demand_for_nothing_new_is_met_once() {
    let mut steps = StepUps::default();
    let requested = ScopeSet::from_text("a");

    assert!(matches!(steps.demand(("r", "o"), &requested, &requested), StepUp::Authorize(_)));
    assert_eq!(steps.demand(("r", "o"), &requested, &requested), StepUp::GiveUp);
}

#[test]
fn a_set_names_each_scope_once() {
    assert_eq!(ScopeSet::from_text(" a  b a ").to_text().as_deref(), Some("a b"));
    assert_eq!(ScopeSet::from_text("  ").to_text(), None);
}
