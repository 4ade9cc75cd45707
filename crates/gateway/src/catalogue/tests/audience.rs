//! Who sees which list: those who share its link, within their rights.

use super::*;

/// What one principal's link showed is nobody else's business.
#[test]
fn a_list_is_seen_by_those_who_share_its_link_and_by_no_one_else() {
    let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
    let view = |principal: &Principal, conversation| View {
        principal: principal.clone(),
        conversation,
        ..all()
    };
    let seen = |catalogue: &Catalogue, view: &View| {
        let page = catalogue.page(ListKind::Tools, None, view, &BTreeSet::new()).unwrap();
        let tools = ListKind::Tools.elements(&page);
        tools.iter().map(|it| it.member("name").unwrap().read().unwrap()).collect::<Vec<String>>()
    };
    for share in [Share::Session, Share::User] {
        let mut catalogue = Catalogue::default();
        let mut member = members(&[("a", Rules::default())]);
        member[0].share = share;
        catalogue.set_servers(member);
        let of_ada = Audience::Principal(ada.clone());
        catalogue.replace("a", &of_ada, ListKind::Tools, &[tool("t"), tool("secret")]);

        assert_eq!(seen(&catalogue, &view(&ada, 2)), ["a_secret", "a_t"], "{share:?}");
        assert!(seen(&catalogue, &view(&bob, 3)).is_empty(), "{share:?}");
        assert_eq!(catalogue.route(ListKind::Tools, "a_secret", &view(&bob, 3)), None);
        assert!(!catalogue.knows("a", ListKind::Tools, &view(&bob, 3)));
        catalogue.replace("a", &Audience::Principal(bob.clone()), ListKind::Tools, &[tool("t")]);
        assert_eq!(seen(&catalogue, &view(&bob, 3)), ["a_t"], "{share:?}");
        assert_eq!(catalogue.route(ListKind::Tools, "a_secret", &view(&bob, 3)), None);
        assert!(catalogue.route(ListKind::Tools, "a_secret", &view(&ada, 2)).is_some());
        catalogue.forget(&of_ada);
        assert!(seen(&catalogue, &view(&ada, 2)).is_empty(), "{share:?}");
    }
}

#[test]
fn a_conversation_with_a_list_of_its_own_does_not_see_those_of_others() {
    let mut catalogue = Catalogue::default();
    let mut member = members(&[("a", Rules::default())]);
    member[0].share = Share::Session;
    catalogue.set_servers(member);
    let of_principal = Audience::Principal(Principal::new("ada"));
    let other = View { conversation: 2, ..all() };
    catalogue.replace("a", &of_principal, ListKind::Tools, &[tool("t")]);
    let before = catalogue.fingerprint(ListKind::Tools, &other);

    catalogue.replace("a", &Audience::Conversation(1), ListKind::Tools, &[tool("mine")]);

    assert_eq!(page(&catalogue, &Scope::All), r#"{"tools":[{"name":"a_mine"}]}"#);
    assert_eq!(route(&catalogue, "a_t"), None, "it was never listed here");
    assert_eq!(catalogue.route(ListKind::Tools, "a_mine", &other), None);
    assert_eq!(catalogue.fingerprint(ListKind::Tools, &other), before, "it sees no change");
}

#[test]
fn what_a_principal_may_not_use_is_not_there_for_it() {
    let mut catalogue = of(&["a", "b", "c"]);
    for server in ["a", "b", "c"] {
        let tools = [tool("get"), tool("set")];
        catalogue.replace(server, &Audience::Everybody, ListKind::Tools, &tools);
        let resource = json(&format!(r#"{{"uri":"x:{server}","name":"n"}}"#));
        let both = [resource, json(r#"{"uri":"x:both","name":"n"}"#)];
        catalogue.replace(server, &Audience::Everybody, ListKind::Resources, &both);
    }
    let grant = |server: &str, tools: Option<Vec<String>>| Grant {
        server: server.to_owned(),
        tools,
        is_read_only: false,
    };
    let grants = vec![grant("a", Some(vec!["get".to_owned()])), grant("b", None)];
    let rights = Rights { grants, ..Rights::default() };
    let view = View { rights: rights.into(), ..all() };
    let tools = catalogue.page(ListKind::Tools, None, &view, &BTreeSet::new()).unwrap();
    let resources = catalogue.page(ListKind::Resources, None, &view, &BTreeSet::new()).unwrap();
    let leads = |name: &str| catalogue.route(ListKind::Tools, name, &view).is_some();
    let reads = |uri: &str| catalogue.route_uri(uri, &view).is_some();

    assert_eq!(tools.as_str(), r#"{"tools":[{"name":"a_get"},{"name":"b_get"},{"name":"b_set"}]}"#);
    assert!(leads("a_get") && leads("b_set") && !leads("a_set") && !leads("c_get"));
    // Who sees one server that lists a URI does not learn that others do.
    assert!(resources.as_str().contains(r#""uri":"x:both""#), "{}", resources.as_str());
    assert!(!resources.as_str().contains("x:a") && !resources.as_str().contains("x:c"));
    assert!(reads("x:b") && !reads("x:a") && !reads("ridethrough:c/x:c") && !reads("x:c"));
    let cursor = Cursor { server: "c".into(), original: "get".into() }.write();
    let refused = catalogue.page(ListKind::Tools, Some(&cursor), &view, &BTreeSet::new());
    assert_eq!(refused, Err(BadCursor));
    let alone = View { scope: Scope::One("a".into()), ..view.clone() };
    assert_eq!(catalogue.route_uri("x:a", &alone), None);
    let before = catalogue.fingerprint(ListKind::Tools, &view);
    let changed = [tool("get"), tool("new")];
    catalogue.replace("a", &Audience::Everybody, ListKind::Tools, &changed);
    assert_eq!(catalogue.fingerprint(ListKind::Tools, &view), before, "it sees no change");
}
