//! What holds for any servers and any lists, in any order of changes.

use proptest::prelude::*;
use ridethrough_server::Principal;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Servers `a`, `a_b` and `b` list tools whose prefixed names collide in every way, and change them.
    #[test]
    fn every_listed_name_is_unique_and_leads_to_the_element_it_was_listed_with(
        changes in prop::collection::vec(
            (0_usize..3, prop::collection::vec("[ab_]{1,3}", 0..6)),
            1..12,
        ),
        has_prefix in prop::array::uniform3(any::<bool>()),
    ) {
        let mut catalogue = Catalogue::default();
        let members = SERVERS.iter().zip(has_prefix).map(|(name, has_prefix)| {
            let prefix = if has_prefix { Rules::default().prefix } else { Prefix::None };
            let rules = Rules { prefix, ..Rules::default() };
            Member { name: (*name).into(), rules, share: Share::All, approved: None }
        });
        catalogue.set_servers(members.collect());
        let mut remembered: BTreeMap<String, Route> = BTreeMap::new();
        for (server, tools) in changes {
            let server = SERVERS[server];
            let elements: Vec<_> = tools.iter().map(|tool| element(server, tool)).collect();
            catalogue.replace(server, &Audience::Everybody, ListKind::Tools, &elements);

            let page = catalogue.page(ListKind::Tools, None, &all(), &BTreeSet::new());
            let mut seen = BTreeSet::new();
            for listed in ListKind::Tools.elements(&page.unwrap()) {
                let name: String = listed.member("name").unwrap().read().unwrap();
                let mark: String = listed.member("mark").unwrap().read().unwrap();
                prop_assert!(seen.insert(name.clone()), "twice: {}", name);
                let route = catalogue.route(ListKind::Tools, &name, &all()).unwrap();
                prop_assert_eq!(mark, format!("{}/{}", route.server, route.original));
                remembered.entry(name).or_insert(route);
            }
            // A name that was ever listed never leads elsewhere.
            for (name, route) in &remembered {
                let now = catalogue.route(ListKind::Tools, name, &all());
                prop_assert_eq!(now.as_ref(), Some(route));
            }
        }
    }

    #[test]
    fn the_order_in_which_servers_list_their_tools_is_of_no_matter(
        tools in prop::collection::btree_set("[a-c]{1,3}", 0..12),
        turn in 0_usize..12,
    ) {
        let mut elements: Vec<_> = tools.iter().map(|tool| element("a", tool)).collect();
        let listed = |elements: &[Json]| {
            let mut catalogue = Catalogue::default();
            let (name, rules) = ("a".into(), Rules::default());
            catalogue.set_servers(vec![Member { name, rules, share: Share::All, approved: None }]);
            catalogue.replace("a", &Audience::Everybody, ListKind::Tools, elements);
            catalogue.page(ListKind::Tools, None, &all(), &BTreeSet::new()).unwrap()
        };
        let before = listed(&elements);
        let turn = turn.min(elements.len());
        elements.rotate_left(turn);

        prop_assert_eq!(listed(&elements), before);
    }
}

/// The view of a caller that may do everything.
fn all() -> View {
    View {
        scope: Scope::All,
        conversation: 1,
        principal: Principal::new("ada"),
        rights: Rights::everything().into(),
    }
}

const SERVERS: [&str; 3] = ["a", "a_b", "b"];

/// A tool that says where it is from.
fn element(server: &str, tool: &str) -> Json {
    Json::new(format!(r#"{{"name":"{tool}","mark":"{server}/{tool}"}}"#)).unwrap()
}
