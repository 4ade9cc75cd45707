//! The open `subscriptions/listen` requests of a host of the stateless revision. Each is open until the host
//! cancels it, and every notification names the request it belongs to.
//!
//! ```text
//!   asked ──the upstream was told of the resources──▶ acknowledged ──▶ told ──cancelled, or the host leaves──▶ over
//! ```
//! Notifications that come before the acknowledgement are sent right behind it.

use std::collections::{BTreeMap, BTreeSet};

use ridethrough_wire::message::{ByKey, Id, Json, Key};
use ridethrough_wire::stateless::{ACKNOWLEDGED, Filter, tagged};

/// All open `subscriptions/listen` requests.
#[derive(Debug, Default)]
pub(crate) struct Listens {
    /// The open requests by number, the oldest first.
    open: BTreeMap<u64, Listen>,
    last: u64,
}

#[derive(Debug)]
struct Listen {
    id: Id,
    filter: Filter,
    /// Notifications that wait for the acknowledgement; `None` once it was sent.
    held: Option<Vec<(Box<str>, Json)>>,
}

/// The limit on open requests is reached.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl Listens {
    /// Adds a request, and returns its number, by which it is acknowledged.
    pub(crate) fn begin(&mut self, id: Id, filter: Filter) -> Result<u64, TooMany> {
        let uris: usize = self.open.values().map(|it| it.filter.resources.len()).sum();
        if self.open.len() >= MOST || uris + filter.resources.len() > MOST_URIS {
            return Err(TooMany);
        }
        self.last += 1;
        self.open.insert(self.last, Listen { id, filter, held: Some(Vec::new()) });
        Ok(self.last)
    }

    /// Acknowledges a request with the resources that were granted, and returns what it is sent first;
    /// nothing if it is over.
    pub(crate) fn acknowledge(
        &mut self,
        number: u64,
        granted: BTreeSet<Box<str>>,
    ) -> Vec<(Box<str>, Json)> {
        let Some(listen) = self.open.get_mut(&number) else { return Vec::new() };
        listen.filter.resources = granted;
        let said = [("notifications".to_owned(), listen.filter.json())];
        let said = tagged(Some(&Json::empty_object().with_members(said)), listen.id.json());
        let held = listen.held.take().unwrap_or_default();
        // Updates of resources that were not granted are not sent.
        let filter = &listen.filter;
        let held = held.into_iter().filter(|(method, params)| filter.wants(method, Some(params)));
        [(ACKNOWLEDGED.into(), said)].into_iter().chain(held).collect()
    }

    /// Returns the params of a notification, once for each request that listens for it.
    pub(crate) fn tell(&mut self, method: &str, params: Option<&Json>) -> Vec<Json> {
        let mut told = Vec::new();
        for listen in self.open.values_mut() {
            if !listen.filter.wants(method, params) {
                continue;
            }
            let params = tagged(params, listen.id.json());
            match &mut listen.held {
                None => told.push(params),
                Some(held) if held.len() < MOST_HELD => held.push((method.into(), params)),
                Some(_) => {}
            }
        }
        told
    }

    /// Removes a request that the host cancels. Returns the resources that no other request listens for;
    /// `None` if there is no such request.
    pub(crate) fn cancel(&mut self, id: &Json) -> Option<Vec<Box<str>>> {
        let open = self.open.iter().map(|(number, it)| (Key::of(it.id.json()), *number));
        let number = open.collect::<ByKey<_>>().remove(&Key::of(id))?;
        let listen = self.open.remove(&number)?;
        // Resources of a request that is not acknowledged yet are dealt with when the upstream has answered.
        let uris = listen.filter.resources.into_iter().filter(|_| listen.held.is_none());
        Some(uris.filter(|uri| !self.is_wanted(uri)).collect())
    }

    /// Whether a request listens for this resource.
    pub(crate) fn is_wanted(&self, uri: &str) -> bool {
        self.open.values().any(|it| it.filter.resources.contains(uri))
    }

    /// Ends all requests, and returns their ids and results.
    pub(crate) fn end(&mut self) -> Vec<(Id, Json)> {
        let open = std::mem::take(&mut self.open).into_values();
        open.map(|listen| (listen.id.clone(), tagged(None, listen.id.json()))).collect()
    }
}

/// The most open requests: a host needs one for each thing that it shows.
const MOST: usize = 100;
/// The most resources of all requests together: each is a request to the upstream, and another in each new
/// session.
const MOST_URIS: usize = 1000;
/// The most held notifications: they make the host read again, which it does once.
const MOST_HELD: usize = 100;

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use ridethrough_wire::message::notification::RESOURCE_UPDATED as UPDATED;
    use ridethrough_wire::message::{Incoming, Message};

    use super::*;

    #[test]
    fn each_listener_hears_what_it_asked_for_under_its_own_id_and_nothing_else() {
        let mut listens = Listens::default();
        let one = listens.begin(id("7"), filter(r#"{"toolsListChanged":true}"#)).unwrap();
        let other =
            r#"{"promptsListChanged":true,"resourceSubscriptions":["a:b"],"taskIds":["t"]}"#;
        let two = listens.begin(id(r#""x""#), filter(other)).unwrap();

        let first = listens.acknowledge(one, BTreeSet::new());
        let second = listens.acknowledge(two, ["a:b".into()].into());

        assert_eq!(
            shown(&first),
            [
                r#"notifications/subscriptions/acknowledged {"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":7}}"#
            ]
        );
        assert_eq!(
            shown(&second),
            [
                r#"notifications/subscriptions/acknowledged {"notifications":{"promptsListChanged":true,"resourceSubscriptions":["a:b"]},"_meta":{"io.modelcontextprotocol/subscriptionId":"x"}}"#
            ]
        );
        let tools = listens.tell("notifications/tools/list_changed", None);
        assert_eq!(texts(&tools), [r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}"#]);
        let updated = Json::new(r#"{"uri":"a:b","_meta":{"n":1.10}}"#).unwrap();
        assert_eq!(
            texts(&listens.tell(UPDATED, Some(&updated))),
            [r#"{"uri":"a:b","_meta":{"n":1.10,"io.modelcontextprotocol/subscriptionId":"x"}}"#]
        );
        assert!(listens.tell("notifications/resources/list_changed", None).is_empty());
        assert!(listens.tell("notifications/acme", None).is_empty());
    }

    #[test]
    fn what_happens_before_it_is_acknowledged_is_told_right_behind_that() {
        let mut listens = Listens::default();
        let wanted = r#"{"toolsListChanged":true,"resourceSubscriptions":["a:b","a:c"]}"#;
        let number = listens.begin(id("7"), filter(wanted)).unwrap();
        let updated = |uri| Json::new(format!(r#"{{"uri":"{uri}"}}"#)).unwrap();

        assert!(listens.tell("notifications/tools/list_changed", None).is_empty());
        assert!(listens.tell(UPDATED, Some(&updated("a:b"))).is_empty());
        assert!(listens.tell(UPDATED, Some(&updated("a:c"))).is_empty());

        let told = listens.acknowledge(number, ["a:b".into()].into());
        let methods: Vec<&str> = told.iter().map(|(method, _)| &**method).collect();
        assert_eq!(methods, [ACKNOWLEDGED, "notifications/tools/list_changed", UPDATED]);
        assert!(told[2].1.as_str().contains("a:b"));
    }

    #[test]
    fn a_resource_is_let_go_with_the_last_who_listens_for_it() {
        let mut listens = Listens::default();
        let wanted = filter(r#"{"resourceSubscriptions":["a:b"]}"#);
        for text in ["1", "2"] {
            let number = listens.begin(id(text), wanted.clone()).unwrap();
            listens.acknowledge(number, wanted.resources.clone());
        }

        assert_eq!(listens.cancel(id("1").json()), Some(vec![]));
        assert_eq!(listens.cancel(id("2").json()), Some(vec!["a:b".into()]));
        assert_eq!(listens.cancel(id("2").json()), None);
    }

    #[test]
    fn only_so_many_listen_and_for_only_so_many_resources() {
        let mut listens = Listens::default();
        for number in 0..MOST {
            listens.begin(id(&number.to_string()), Filter::default()).unwrap();
        }
        assert_eq!(listens.begin(id("x"), Filter::default()), Err(TooMany));

        let mut listens = Listens::default();
        let uris: BTreeSet<_> = (0..MOST_URIS).map(|it| it.to_string().into()).collect();
        listens.begin(id("1"), Filter { resources: uris, ..Filter::default() }).unwrap();
        assert_eq!(
            listens.begin(id("2"), filter(r#"{"resourceSubscriptions":["a:b"]}"#)),
            Err(TooMany)
        );
        assert_eq!(listens.end().len(), 1);
    }

    fn filter(text: &str) -> Filter {
        let params = Json::new(format!(r#"{{"notifications":{text}}}"#)).unwrap();
        Filter::read(Some(&params)).unwrap()
    }

    fn id(text: &str) -> Id {
        let text = if text == "x" { "\"x\"" } else { text };
        let request = Bytes::from(format!(r#"{{"id":{text},"method":"m"}}"#));
        match Incoming::parse(&request) {
            Ok(Incoming::One(Message::Request { id, .. })) => id,
            other => panic!("{other:?}"),
        }
    }

    fn shown(told: &[(Box<str>, Json)]) -> Vec<String> {
        told.iter().map(|(method, params)| format!("{method} {}", params.as_str())).collect()
    }

    fn texts(told: &[Json]) -> Vec<&str> {
        told.iter().map(Json::as_str).collect()
    }
}
