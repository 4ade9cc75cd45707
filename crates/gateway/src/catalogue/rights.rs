//! What a principal may see and call. What it may not is not there, as far as it can tell.

use std::collections::BTreeMap;

use ridethrough_server::Caller;
use ridethrough_wire::message::{Json, ListKind};
use ridethrough_wire::patterns::matches_any;

use super::rules::says_read_only;

/// What a principal may see and call, and how much of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rights {
    /// What is granted. The default is nothing.
    pub grants: Vec<Grant>,
    /// How many calls may begin in a minute; any number if it is not given.
    pub calls_per_minute: Option<u32>,
    /// How many calls may be under way at once; any number if it is not given.
    pub in_flight: Option<u32>,
}

/// The right to use some servers, or some tools of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// A pattern of the names of servers.
    pub server: String,
    /// Patterns of the tools, by the names that the server gives them. Without any, the whole server is
    /// granted: its tools, prompts and resources.
    pub tools: Option<Vec<String>>,
    /// Whether only tools are granted that say of themselves that they change nothing.
    pub is_read_only: bool,
}

/// The rights of all principals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessRights {
    /// The rights of principals by their names.
    pub principals: BTreeMap<String, Rights>,
    /// The rights of groups, for principals that are not named. Those of several groups add up.
    pub groups: BTreeMap<String, Rights>,
    /// The rights of everybody else who is let in; none by default.
    pub others: Rights,
}

impl AccessRights {
    /// Returns the rights of a caller; `None` for the owner of the gateway, who has all.
    pub(crate) fn limits(&self, caller: &Caller) -> Option<Rights> {
        if caller.principal.is_special() {
            return None;
        }
        if let Some(own) = self.principals.get(caller.principal.name()) {
            return Some(own.clone());
        }
        let groups = caller.groups.iter().filter_map(|it| self.groups.get(&**it));
        Some(groups.cloned().reduce(Rights::and).unwrap_or_else(|| self.others.clone()))
    }
}

impl Rights {
    /// Returns the right to everything.
    pub fn everything() -> Self {
        let grant = Grant { server: "*".to_owned(), tools: None, is_read_only: false };
        Self { grants: vec![grant], ..Self::default() }
    }

    /// Returns what is granted by the one or by the other.
    fn and(mut self, other: Self) -> Self {
        self.grants.extend(other.grants);
        let larger = |one: Option<u32>, two: Option<u32>| Some(one?.max(two?));
        self.calls_per_minute = larger(self.calls_per_minute, other.calls_per_minute);
        self.in_flight = larger(self.in_flight, other.in_flight);
        self
    }

    /// Whether anything of this server may be used.
    pub(crate) fn sees(&self, server: &str) -> bool {
        self.on(server).next().is_some()
    }

    /// Whether the prompts and resources of this server may be used.
    pub(crate) fn reads_all(&self, server: &str) -> bool {
        self.on(server).any(|it| it.tools.is_none())
    }

    /// Whether everything of this server may be used, also what the gateway knows nothing of.
    pub(crate) fn is_whole(&self, server: &str) -> bool {
        self.on(server).any(|it| it.tools.is_none() && !it.is_read_only)
    }

    /// Whether an element of a server's list may be seen and used.
    pub(crate) fn allows(&self, server: &str, kind: ListKind, name: &str, element: &Json) -> bool {
        match kind {
            ListKind::Tools => self
                .on(server)
                .any(|grant| grant.names(name) && (!grant.is_read_only || says_read_only(element))),
            _ => self.reads_all(server),
        }
    }

    fn on(&self, server: &str) -> impl Iterator<Item = &Grant> {
        let is_meant = move |it: &&Grant| matches_any(std::slice::from_ref(&it.server), server);
        self.grants.iter().filter(is_meant)
    }
}

impl Grant {
    fn names(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| matches_any(tools, tool))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ridethrough_server::Principal;

    use super::*;

    #[test]
    fn a_tool_is_allowed_by_its_server_its_name_and_what_it_says_of_itself() {
        let rights = Rights {
            grants: vec![
                grant("issues", Some(&["get*"]), false),
                grant("files*", None, true),
                grant("web", None, false),
            ],
            ..Rights::default()
        };
        let (reads, writes) =
            (json(r#"{"annotations":{"readOnlyHint":true}}"#), Json::empty_object());
        let allows = |server, tool, element| rights.allows(server, ListKind::Tools, tool, element);

        assert!(allows("issues", "get_one", &writes) && !allows("issues", "delete", &reads));
        assert!(allows("files2", "read", &reads) && !allows("files2", "write", &writes));
        assert!(allows("web", "anything", &writes) && !allows("other", "get", &reads));
        assert!(rights.sees("issues") && !rights.sees("other"));
        assert!(!rights.reads_all("issues") && rights.reads_all("files"));
        assert!(!rights.is_whole("files") && rights.is_whole("web"));
        assert!(!rights.allows("issues", ListKind::Resources, "x:1", &writes));
    }

    #[test]
    fn who_is_not_named_has_the_rights_of_its_groups_or_those_of_others_or_none() {
        let some =
            |server: &str| Rights { grants: vec![grant(server, None, false)], ..Rights::default() };
        let mut table = AccessRights::default();
        table.principals.insert("ada".to_owned(), some("a"));
        table.groups.insert("dev".to_owned(), Rights { in_flight: Some(2), ..some("d") });
        table.groups.insert("ops".to_owned(), Rights { in_flight: Some(3), ..some("o") });
        let of = |table: &AccessRights, name: &str, groups: &[&str]| {
            let groups = groups.iter().map(|it| Arc::from(*it)).collect();
            table.limits(&Caller::new(Principal::new(name), "").in_groups(groups)).unwrap()
        };

        assert!(of(&table, "ada", &["dev"]).sees("a") && !of(&table, "ada", &["dev"]).sees("d"));
        let both = of(&table, "bob", &["dev", "ops", "else"]);
        assert!(both.sees("d") && both.sees("o") && both.in_flight == Some(3));
        assert_eq!(of(&table, "eve", &[]), Rights::default());
        // A name does not make an owner.
        assert_eq!(of(&table, "owner", &[]), Rights::default());
        table.others = some("x");
        assert!(of(&table, "eve", &[]).sees("x"));
        assert_eq!(table.limits(&Caller::new(Principal::owner(), "")), None);
    }

    fn grant(server: &str, tools: Option<&[&str]>, is_read_only: bool) -> Grant {
        let tools = tools.map(|it| it.iter().map(|tool| (*tool).to_owned()).collect());
        Grant { server: server.to_owned(), tools, is_read_only }
    }

    fn json(text: &str) -> Json {
        Json::new(text.to_owned()).unwrap()
    }
}
