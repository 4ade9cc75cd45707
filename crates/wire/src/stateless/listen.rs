//! `subscriptions/listen`: what a client wants to be told, and what it is told.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::message::reserved::SUBSCRIPTION;
use crate::message::splice::{self, is_object};
use crate::message::{Json, ListKind, is_within, notification};

/// The method by which a client listens.
pub const LISTEN: &str = "subscriptions/listen";

/// The notification that says what is listened for.
pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// The changes that one `subscriptions/listen` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Lists whose changes are sent.
    pub kinds: BTreeSet<ListKind>,
    /// Resources whose updates are sent.
    pub resources: BTreeSet<Box<str>>,
}

impl Filter {
    /// Reads the params of a request; `None` if they have no filter. Members of other names are left out.
    pub fn read(params: Option<&Json>) -> Option<Self> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Wanted {
            tools_list_changed: Option<bool>,
            prompts_list_changed: Option<bool>,
            resources_list_changed: Option<bool>,
            resource_subscriptions: Option<BTreeSet<Box<str>>>,
        }

        let wanted = params?.member("notifications").filter(is_object)?;
        let wanted: Wanted = wanted.read()?;
        let kinds = [
            (wanted.tools_list_changed, ListKind::Tools),
            (wanted.prompts_list_changed, ListKind::Prompts),
            (wanted.resources_list_changed, ListKind::Resources),
        ];
        let kinds = kinds.into_iter().filter(|(wanted, _)| *wanted == Some(true));
        let resources = wanted.resource_subscriptions.unwrap_or_default();
        Some(Self { kinds: kinds.map(|(_, kind)| kind).collect(), resources })
    }

    /// Returns the filter as the revision writes it.
    pub fn json(&self) -> Json {
        let yes = Json::of(&true).expect("a bool is JSON");
        let kinds = self.kinds.iter().map(|kind| (name(*kind).to_owned(), yes.clone()));
        let resources = Json::of(&self.resources).expect("texts are JSON");
        let resources = (!self.resources.is_empty()).then_some(resources);
        let resources = resources.map(|them| ("resourceSubscriptions".to_owned(), them));
        Json::empty_object().with_members(kinds.chain(resources))
    }

    /// Whether a notification is among what is asked for.
    pub fn wants(&self, method: &str, params: Option<&Json>) -> bool {
        if method != notification::RESOURCE_UPDATED {
            return self.kinds.iter().any(|kind| kind.changed() == method);
        }
        let uri: Option<String> = params.and_then(|params| params.member("uri")?.read());
        uri.is_some_and(|uri| self.resources.iter().any(|wanted| is_within(&uri, wanted)))
    }
}

/// Returns the params of a notification with the id of the request that listens for it.
pub fn tagged(params: Option<&Json>, id: &Json) -> Json {
    let params = params.cloned().unwrap_or_else(Json::empty_object);
    let meta = params.member("_meta").filter(is_object).unwrap_or_else(Json::empty_object);
    splice::with_member(&params, "_meta", &splice::with_member(&meta, SUBSCRIPTION, id))
}

const fn name(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Prompts => "promptsListChanged",
        ListKind::Resources | ListKind::Templates => "resourcesListChanged",
        ListKind::Tools => "toolsListChanged",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_what_was_asked_for_and_is_read_back_from_its_own_text() {
        let asked = r#"{"notifications":{"promptsListChanged":true,"toolsListChanged":null,"resourcesListChanged":false,"resourceSubscriptions":["x:/a"],"taskIds":["t"]}}"#;
        let updated = |uri| json_of(&format!(r#"{{"uri":"{uri}"}}"#));

        let filter = Filter::read(Some(&json_of(asked))).unwrap();

        let text = r#"{"promptsListChanged":true,"resourceSubscriptions":["x:/a"]}"#;
        assert_eq!(filter.json().as_str(), text);
        let again = json_of(&format!(r#"{{"notifications":{text}}}"#));
        assert_eq!(Filter::read(Some(&again)), Some(filter.clone()));
        assert!(filter.wants(notification::PROMPTS_CHANGED, None));
        assert!(!filter.wants(notification::TOOLS_CHANGED, None));
        assert!(filter.wants(notification::RESOURCE_UPDATED, Some(&updated("x:/a/part"))));
        assert!(!filter.wants(notification::RESOURCE_UPDATED, Some(&updated("x:/b"))));
        assert!(!filter.wants(notification::RESOURCE_UPDATED, None));
    }

    #[test]
    fn what_is_no_filter_is_none() {
        for text in ["{}", r#"{"notifications":[]}"#, r#"{"notifications":{"toolsListChanged":1}}"#]
        {
            assert_eq!(Filter::read(Some(&json_of(text))), None, "{text}");
        }
        assert_eq!(Filter::read(None), None);
    }

    #[test]
    fn a_notification_names_its_request_beside_what_it_says_itself() {
        let updated = json_of(r#"{"uri":"a:b","_meta":{"n":1.10}}"#);

        assert_eq!(
            tagged(Some(&updated), &json_of("\"x\"")).as_str(),
            r#"{"uri":"a:b","_meta":{"n":1.10,"io.modelcontextprotocol/subscriptionId":"x"}}"#
        );
        assert_eq!(
            tagged(None, &json_of("7")).as_str(),
            r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}"#
        );
    }

    fn json_of(text: &str) -> Json {
        Json::new(text.to_owned()).unwrap()
    }
}
