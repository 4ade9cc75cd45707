//! Answers that were given before any question: `--answer key=value`.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use ridethrough::Json;

use super::super::arguments::{self, Typed};
use super::super::schema::SchemaDocument;
use crate::misuse::Misuse;

/// The answers, and which of them were asked for.
pub(super) struct Answers {
    typed: Typed,
    used: Mutex<BTreeSet<String>>,
}

impl Answers {
    /// Reads the words of `--answer`; `None` if there are none.
    pub(super) fn read(words: &[String]) -> anyhow::Result<Option<Self>> {
        if words.is_empty() {
            return Ok(None);
        }
        let typed = arguments::read(words)?.map_err(|fault| wrong(&fault))?;
        Ok(Some(Self { typed, used: Mutex::default() }))
    }

    /// Returns all answers, with the types that the schema of a form gives them.
    pub(super) fn by(&self, schema: &Json) -> Result<Vec<(String, Json)>, String> {
        let built = self.typed.clone().by(SchemaDocument::new(schema).schema());
        built.map(|(json, _)| json.members()).map_err(|faults| faults.join("; "))
    }

    /// Whether the answers agree to a form of which they fill in nothing: `--answer '{}'`.
    pub(super) const fn agree_to_anything(&self) -> bool {
        matches!(self.typed, Typed::Object(_))
    }

    /// Notes that a form with this schema asks for some of the answers, whether they fit or not.
    pub(super) fn note(&self, schema: &Json) {
        let fields = schema.member("properties").map(|it| it.members()).unwrap_or_default();
        self.used().extend(fields.into_iter().map(|(name, _)| name));
    }

    /// Returns the names that no form asked for.
    pub(super) fn unused(&self) -> Vec<String> {
        let names = self.by(&Json::empty_object()).unwrap_or_default();
        let used = self.used();
        names.into_iter().map(|(name, _)| name).filter(|name| !used.contains(name)).collect()
    }

    fn used(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        // Names are only ever added, so a poisoned lock holds a whole set.
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wrong(what: &str) -> Misuse {
    Misuse {
        what: format!("`--answer` cannot be used: {what}"),
        tried: "the command line was read; nothing was sent".to_owned(),
        hint: "answers are written like arguments: `--answer name=Ann`, `--answer age:=30`"
            .to_owned(),
    }
}
