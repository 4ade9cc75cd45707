//! A config file of the gateway that is being read: values by their kind, and everything that is wrong with it.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::document::tree::{Broken, Node, Value};
use crate::hosts::{File, Trust};
use crate::values;

/// A file that is being read, and what was found wrong with it.
pub(crate) struct Reading<'a> {
    pub(crate) file: &'a File,
    pub(crate) trust: Trust,
    pub(crate) faults: Vec<String>,
}

impl Reading<'_> {
    pub(crate) fn choice<T: Copy>(
        &mut self,
        node: &Node,
        key: &str,
        among: &[(&'static str, T, &'static str)],
    ) -> Option<T> {
        let given = node.get(key)?;
        let named = given.text().and_then(|text| values::named(among, text));
        if named.is_none() {
            let names: Vec<_> = among.iter().map(|(name, ..)| format!("\"{name}\"")).collect();
            self.fault(given.span.start, &format!("`{key}` must be {}", names.join(" or ")));
        }
        named
    }

    pub(crate) fn texts(&mut self, node: &Node, key: &str) -> Vec<String> {
        let Some(list) = node.get(key) else { return Vec::new() };
        let texts = list.texts();
        if texts.is_none() {
            self.fault(list.span.start, &format!("`{key}` must be a list of texts"));
        }
        texts.unwrap_or_default()
    }

    pub(crate) fn flag(&mut self, node: &Node, key: &str) -> bool {
        match node.get(key) {
            None => false,
            Some(Node { value: Value::Flag(flag), .. }) => *flag,
            Some(other) => {
                self.fault(other.span.start, &format!("`{key}` must be true or false"));
                false
            }
        }
    }

    pub(crate) fn seconds(&mut self, node: &Node, key: &str) -> Option<Duration> {
        let seconds = self.number(node, key, 1..=86_400)?;
        Some(Duration::from_secs(seconds.try_into().unwrap_or(u64::MAX)))
    }

    pub(crate) fn number(
        &mut self,
        node: &Node,
        key: &str,
        bounds: RangeInclusive<usize>,
    ) -> Option<usize> {
        let value = node.get(key)?;
        let number = match &value.value {
            Value::Other(text) => text.parse().ok().filter(|it| bounds.contains(it)),
            _ => None,
        };
        if number.is_none() {
            let (least, most) = (bounds.start(), bounds.end());
            let what = format!("`{key}` must be a number, {least} to {most}");
            self.fault(value.span.start, &what);
        }
        number
    }

    pub(crate) fn fault(&mut self, place: usize, what: &str) {
        let text = self.file.document.text.as_bytes();
        self.faults.push(Broken::at(text, place, what).to_string());
    }

    /// Reads a text that is not empty.
    pub(crate) fn words(&mut self, node: &Node, key: &str) -> Option<String> {
        let value = node.get(key)?;
        let text = value.text().filter(|it| !it.is_empty()).map(str::to_owned);
        if text.is_none() {
            self.fault(value.span.start, &format!("`{key}` must be a text"));
        }
        text
    }
}
