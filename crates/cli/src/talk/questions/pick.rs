//! Choosing from a list by number, value or title.

use ridethrough::Json;

use super::super::schema::AllowedValue;
use crate::safe;

/// The choices of a field.
#[derive(Clone, Debug)]
pub(super) struct Choices(pub(super) Vec<AllowedValue>);

impl Choices {
    /// Returns the value that a text names: a value itself first, then a title, then a number of the list.
    pub(super) fn pick(&self, text: &str) -> Result<Json, String> {
        let text = text.trim();
        let number = text.parse::<usize>().ok().filter(|_| self.is_numbered());
        let by_number = || self.0.get(number?.checked_sub(1)?);
        let found = self.named(|name| name == text).or_else(by_number).or_else(|| {
            // If two names differ in case only, the text means neither.
            let is_it = |name: &str| name.to_lowercase() == text.to_lowercase();
            self.named(is_it)
                .filter(|_| self.0.iter().filter(|it| has_name(it, is_it)).count() == 1)
        });
        let unknown = || format!("`{}` is none of the choices", safe::line(text));
        found.map(|it| it.value.clone()).ok_or_else(unknown)
    }

    fn named(&self, is_it: impl Fn(&str) -> bool + Copy) -> Option<&AllowedValue> {
        let by_value = self.0.iter().find(|it| is_it(&shown(&it.value)));
        by_value.or_else(|| self.0.iter().find(|it| it.title.as_deref().is_some_and(is_it)))
    }

    /// Whether numbers name places in the list: they do not where a choice could be a number itself.
    fn is_numbered(&self) -> bool {
        let is_number = |name: &str| name.trim().parse::<f64>().is_ok();
        !self.0.iter().any(|it| has_name(it, is_number))
    }

    /// Returns the list, a choice on each line.
    pub(super) fn listed(&self) -> String {
        let values: Vec<_> = self.0.iter().map(|it| safe::line(&shown(&it.value))).collect();
        let width = values.iter().map(|it| it.chars().count()).max().unwrap_or_default().min(WIDE);
        let line = |(number, (value, choice)): (usize, (&String, &AllowedValue))| {
            let number =
                if self.is_numbered() { format!("{:>4}  ", number + 1) } else { "    ".to_owned() };
            let title = choice.title.as_deref().filter(|it| safe::line(it) != *value);
            match title.map(safe::line) {
                Some(title) => format!("{number}{value:width$}  {title}\n"),
                None => format!("{number}{value}\n"),
            }
        };
        let lines = values.iter().zip(&self.0).enumerate().take(MOST_SHOWN).map(line);
        let more = self.0.len().saturating_sub(MOST_SHOWN);
        let more = if more > 0 { format!("    (and {more} more)\n") } else { String::new() };
        lines.collect::<String>() + &more
    }
}

fn has_name(choice: &AllowedValue, is_it: impl Fn(&str) -> bool) -> bool {
    is_it(&shown(&choice.value)) || choice.title.as_deref().is_some_and(is_it)
}

/// Returns a value as a person writes it: text without its quotes.
pub(super) fn shown(value: &Json) -> String {
    value.string().map_or_else(|| value.as_str().to_owned(), |text| text.into_owned())
}

const MOST_SHOWN: usize = 100;
/// The widest value for which titles are aligned.
const WIDE: usize = 30;
