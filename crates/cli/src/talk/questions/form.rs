//! A form as a conversation: one field after the other, then a review of what is sent.
//!
//! ```text
//!   fields ──each line fits──▶ review ──yes──▶ accepted
//!     ▲  └─a line does not fit─▶ asked again      ├─no──▶ declined
//!     └──────────────────edit─────────────────────┘
//! ```
//! Nothing is read or written here: lines come in, prompts and the answer go out.

use ridethrough::Json;
use ridethrough::model::FormRequest;

use super::super::arguments::yes_or_no;
use super::super::schema::SchemaDocument;
use super::field::Field;
use super::quoted;
use crate::safe;

/// A form that is being filled in.
pub(super) struct Form {
    message: String,
    fields: Vec<Field>,
    /// The value of each field, if one was given.
    given: Vec<Option<Json>>,
    /// Which fields need not be asked for.
    is_known: Vec<bool>,
    step: FormStep,
}

enum FormStep {
    Field(usize),
    Review,
}

/// The effect of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// The form is filled in with this.
    Accepted(Json),
    /// The line does not fit, for this reason; the question is asked again.
    Again(String),
    Declined,
    /// There is more to ask.
    Next,
}

impl Form {
    /// Reads a form; fails if a person could not fill it in.
    pub(super) fn new(request: &FormRequest) -> Result<Self, String> {
        let schema = &request.requested_schema;
        let document = SchemaDocument::new(schema);
        if document.is_too_large() {
            return Err("its form is too large".to_owned());
        }
        let properties = document.schema().properties();
        let fields: Vec<_> = properties
            .take(MOST_FIELDS + 1)
            .map(|(name, it)| Field::new(name, it, schema))
            .collect();
        if fields.len() > MOST_FIELDS {
            return Err(format!("its form has more than {MOST_FIELDS} fields"));
        }
        let (given, is_known) = (vec![None; fields.len()], vec![false; fields.len()]);
        let step = if fields.is_empty() { FormStep::Review } else { FormStep::Field(0) };
        Ok(Self { message: request.message.clone(), fields, given, is_known, step })
    }

    /// Fills in known values, which are not asked for. Returns the names that the form has.
    pub(super) fn know(&mut self, members: Vec<(String, Json)>) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        for (name, value) in members {
            let Some(place) = self.fields.iter().position(|it| it.name == name) else { continue };
            self.fields[place].check(&value)?;
            (self.given[place], self.is_known[place]) = (Some(value), true);
            names.push(name);
        }
        self.step = self.following(0);
        Ok(names)
    }

    /// Returns what is sent if no person is asked: known values, and defaults for the rest.
    pub(super) fn unasked(mut self) -> Result<Json, String> {
        for (place, field) in self.fields.iter().enumerate() {
            if !self.is_known[place] {
                self.given[place] = field.read("", None)?;
            }
        }
        Ok(self.whole())
    }

    /// Whether everything that the form asks for is known.
    pub(super) fn is_known(&self) -> bool {
        !self.fields.is_empty() && self.is_known.iter().all(|it| *it)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.fields.iter().map(|it| safe::line(&it.name)).collect()
    }

    /// Returns the text above the fields.
    pub(super) fn head(&self, server: &str) -> String {
        let mut head = format!("\n{server} asks:\n{}", quoted(&self.message));
        let secret = self.fields.iter().find(|it| it.is_secret());
        if let Some(field) = secret {
            head += &format!(
                "warning: `{}` sounds like a secret, which a server must not ask for in a form\n",
                safe::line(&field.name)
            );
        }
        let known: Vec<_> = self.fields.iter().zip(&self.given).zip(&self.is_known).collect();
        for ((field, given), _) in known.iter().filter(|(_, is_known)| **is_known) {
            head += &line(field, given.as_ref());
        }
        if known.iter().any(|(_, is_known)| !**is_known) {
            head += "An empty line takes what is in brackets. ";
        }
        head + "Ctrl-C declines, Ctrl-D cancels.\n"
    }

    /// Returns the text before the next line is read; its last line is the prompt.
    pub(super) fn question(&self) -> String {
        match self.step {
            FormStep::Field(place) => {
                let total = self.fields.len();
                let place_words = format!("{} of {total}", place + 1);
                self.fields[place].question(&place_words, self.given[place].as_ref())
            }
            FormStep::Review if self.fields.is_empty() => "\nagree? yes or no: ".to_owned(),
            FormStep::Review => {
                let lines = self.fields.iter().zip(&self.given);
                let lines: String =
                    lines.map(|(field, given)| line(field, given.as_ref())).collect();
                format!("\nThis is sent:\n{lines}send it? yes, no or edit [yes]: ")
            }
        }
    }

    /// Takes the next line.
    pub(super) fn take(&mut self, typed: &str) -> Taken {
        match self.step {
            FormStep::Field(place) => {
                match self.fields[place].read(typed, self.given[place].as_ref()) {
                    Err(reason) => Taken::Again(reason),
                    Ok(value) => {
                        self.given[place] = value;
                        self.step = self.following(place + 1);
                        Taken::Next
                    }
                }
            }
            FormStep::Review => self.decide(typed),
        }
    }

    /// Returns the next field to ask for.
    fn following(&self, from: usize) -> FormStep {
        let place = (from..self.fields.len()).find(|place| !self.is_known[*place]);
        place.map_or(FormStep::Review, FormStep::Field)
    }

    fn decide(&mut self, typed: &str) -> Taken {
        let is_empty = typed.trim().is_empty();
        match yes_or_no(typed) {
            Some(false) => Taken::Declined,
            Some(true) => Taken::Accepted(self.whole()),
            // An empty line agrees to values that a person has seen. A form without fields has none.
            None if is_empty && !self.fields.is_empty() => Taken::Accepted(self.whole()),
            None if ["e", "edit"].contains(&typed.trim()) && !self.fields.is_empty() => {
                self.is_known.fill(false);
                self.step = self.following(0);
                Taken::Next
            }
            None if self.fields.is_empty() => Taken::Again("type `yes` or `no`".to_owned()),
            None => Taken::Again("type `yes`, `no` or `edit`".to_owned()),
        }
    }

    /// Returns the values, each of which fits its field.
    fn whole(&self) -> Json {
        let given = self.fields.iter().zip(&self.given);
        let given = given.filter_map(|(field, it)| Some((field.name.clone(), it.clone()?)));
        Json::empty_object().with_members(given.collect::<Vec<_>>())
    }
}

fn line(field: &Field, given: Option<&Json>) -> String {
    let given = given.map(|it| safe::line(&field.written(it)));
    format!("  {}: {}\n", safe::line(&field.name), given.as_deref().unwrap_or("(nothing)"))
}

/// The most fields: more than a person fills in.
const MOST_FIELDS: usize = 100;

#[cfg(test)]
mod tests;
