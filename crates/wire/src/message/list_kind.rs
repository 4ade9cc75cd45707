//! The lists that a server may have, and what the protocol calls each of them.

use super::{Json, notification, splice};

/// A list that a server may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ListKind {
    /// Prompts.
    Prompts,
    /// Resources.
    Resources,
    /// Resource templates.
    Templates,
    /// Tools.
    Tools,
}

impl ListKind {
    /// All lists.
    pub const ALL: [Self; 4] = [Self::Prompts, Self::Resources, Self::Templates, Self::Tools];

    /// Returns the list that a method asks for, if it asks for one.
    pub fn of_method(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.method() == method)
    }

    /// Returns the method that asks for the list.
    pub const fn method(self) -> &'static str {
        match self {
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
            Self::Tools => "tools/list",
        }
    }

    /// Returns the notification that tells a client of a change.
    pub const fn changed(self) -> &'static str {
        match self {
            Self::Prompts => notification::PROMPTS_CHANGED,
            Self::Resources | Self::Templates => notification::RESOURCES_CHANGED,
            Self::Tools => notification::TOOLS_CHANGED,
        }
    }

    /// Returns the capability of a server that has this list.
    pub const fn capability(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
            Self::Tools => "tools",
        }
    }

    /// Returns the member of a result that holds the elements.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Tools => "tools",
        }
    }

    /// Returns a result with these elements and no further page.
    pub fn result<'a>(self, elements: impl IntoIterator<Item = &'a Json>) -> Json {
        Json::empty_object().with_members([(self.key().to_owned(), splice::array(elements))])
    }

    /// Returns the elements of a result.
    pub fn elements(self, result: &Json) -> Vec<Json> {
        result.member(self.key()).and_then(|list| list.elements()).unwrap_or_default()
    }
}
