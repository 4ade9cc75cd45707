//! The page of one tool: what it is, whether a call of it may be sent again, and all its arguments.

use ridethrough::machine::ReplayRule;
use ridethrough::model::{TaskSupport, Tool};

use super::schema::{Schema, SchemaDocument, cut};
use crate::out::{Colour, painted, wrapped};
use crate::safe;
use crate::secrets;

/// Returns the page of a tool; `call` is the command line that calls it.
pub(super) fn words(
    tool: &Tool,
    rule: ReplayRule,
    is_colourful: bool,
    call: impl Fn(&str) -> String,
) -> String {
    let bold = |text: &str| painted(text, Colour::Bold, is_colourful);
    let title = tool.title.as_deref().map(|it| format!("  {}", safe::line(it))).unwrap_or_default();
    let mut page = format!("{}{title}\n", bold(&safe::line(&tool.name)));
    let description = safe::text(tool.description.as_deref().unwrap_or_default());
    for paragraph in description.lines().filter(|it| !it.trim().is_empty()) {
        page += &format!("{}\n", wrapped(paragraph, "    "));
    }
    page += &format!("\n{}\n", bold("Safe to repeat?"));
    page += &format!("{}\n", wrapped(&repeating(tool, rule), "    "));
    let input = SchemaDocument::new(&tool.input_schema);
    page += &format!("\n{}\n{}", bold("Arguments"), fields(&input, "takes none"));
    if let Some(output) = &tool.output_schema {
        page +=
            &format!("\n{}\n{}", bold("Answer"), fields(&SchemaDocument::new(output), "an object"));
    }
    let notes = notes(tool);
    if !notes.is_empty() {
        page += &format!("\n{}\n{notes}", bold("Says of itself"));
    }
    page + &format!("\n{}\n    {}\n", bold("Call"), call(&example(input.schema())))
}

/// Returns what happens to a call in doubt, and why.
fn repeating(tool: &Tool, rule: ReplayRule) -> String {
    let says = |hint: Option<bool>| hint == Some(true);
    let hints = &tool.annotations;
    let name = safe::line(&tool.name);
    match () {
        () if rule == ReplayRule::Repeatable => {
            "yes: you marked it; a call in doubt is sent again".to_owned()
        }
        () if rule == ReplayRule::Once => {
            "no: you said that it writes; a call in doubt is not sent again".to_owned()
        }
        () if says(hints.read_only_hint) => {
            "yes: it says that it only reads; a call in doubt is sent again".to_owned()
        }
        () if says(hints.idempotent_hint) => format!(
            "it says that it can run twice, which is not believed by itself: a call in doubt is sent \
             again with `--repeatable {name}`"
        ),
        () => {
            let why =
                if says(hints.destructive_hint) { "it may destroy" } else { "it says nothing" };
            format!(
                "no: {why}; a call in doubt is not sent again, unless you know better: \
                 `--repeatable {name}`"
            )
        }
    }
}

/// Returns the annotations that were sent, and whether the tool can be a task.
fn notes(tool: &Tool) -> String {
    let hints = &tool.annotations;
    let named = [
        ("readOnlyHint", hints.read_only_hint),
        ("idempotentHint", hints.idempotent_hint),
        ("destructiveHint", hints.destructive_hint),
        ("openWorldHint", hints.open_world_hint),
    ];
    let hints =
        named.into_iter().filter_map(|(name, hint)| Some(format!("    {name}: {}\n", hint?)));
    let task = match tool.task_support {
        TaskSupport::Required => "    can be called as a task only\n",
        TaskSupport::Optional => "    can be called as a task\n",
        _ => "",
    };
    hints.collect::<String>() + task
}

/// Returns every field with its nested fields, one on each line.
fn fields(document: &SchemaDocument, nothing: &str) -> String {
    if document.is_too_large() {
        return "    (its schema is too large to be shown; `--json` has it)\n".to_owned();
    }
    let mut lines = Vec::new();
    gather(document.schema(), 1, &mut lines);
    forms(document.schema(), 0, &mut lines);
    if lines.is_empty() { format!("    {nothing}\n") } else { lines.concat() }
}

fn gather(schema: Schema<'_>, depth: usize, lines: &mut Vec<String>) {
    let indent = "    ".repeat(depth);
    let required = schema.required();
    for name in schema.undescribed() {
        lines.push(format!("{indent}{}=any value, required\n", safe::line(name)));
    }
    for (name, property) in schema.properties() {
        if lines.len() >= MOST_LINES {
            if lines.len() == MOST_LINES {
                lines.push("    (and more; `--json` has all)\n".to_owned());
            }
            return;
        }
        let need = if required.contains(&name) { ", required" } else { "" };
        let default = property.default().map(|it| format!(" (default {it})")).unwrap_or_default();
        let shown = secrets::masked(name);
        let fits = safe::our_line(&format!("{shown}={}{need}{default}", property.words()));
        lines.push(format!("{indent}{}\n", cut(&fits, LONGEST)));
        if let Some(description) = property.description() {
            lines.push(format!(
                "{}\n",
                wrapped(&safe::text(&description), &format!("{indent}    "))
            ));
        }
        if depth < DEEPEST {
            inside(property, depth, lines);
        }
    }
}

/// Adds the nested fields: of an object, of the elements of a list, of each alternative form.
fn inside(schema: Schema<'_>, depth: usize, lines: &mut Vec<String>) {
    gather(schema, depth + 1, lines);
    if let Some(items) = schema.items() {
        let indent = "    ".repeat(depth + 1);
        let before = lines.len();
        gather(items, depth + 2, lines);
        if lines.len() > before {
            lines.insert(before, format!("{indent}each of them:\n"));
        }
    }
    forms(schema, depth, lines);
}

/// Adds the alternative forms of an object, each with its fields.
fn forms(schema: Schema<'_>, depth: usize, lines: &mut Vec<String>) {
    let forms: Vec<_> =
        schema.branches(0).into_iter().filter(|it| it.properties().next().is_some()).collect();
    for (number, form) in forms.iter().enumerate() {
        if forms.len() > 1 {
            lines.push(format!("{}form {}:\n", "    ".repeat(depth + 1), number + 1));
        }
        gather(*form, depth + 1 + usize::from(forms.len() > 1), lines);
    }
}

/// Returns words for all required arguments, as they are typed.
fn example(schema: Schema<'_>) -> String {
    let mut words = Vec::new();
    required(schema, "", 1, &mut words);
    words.truncate(MOST_WORDS);
    words.iter().map(|it| safe::line(&format!(" {it}"))).collect()
}

fn required(schema: Schema<'_>, inside: &str, depth: usize, words: &mut Vec<String>) {
    for name in schema.required().into_iter().take(MOST_WORDS) {
        let place = format!("{inside}{name}");
        let property = schema.property(name);
        let value = property.and_then(Schema::values).and_then(|it| it.into_iter().next());
        let types = property.map(Schema::types).unwrap_or_default();
        let is_object = types == ["object"];
        let is_list_of_objects = types == ["array"]
            && property.and_then(Schema::items).is_some_and(|it| it.types() == ["object"]);
        match (value, property) {
            (Some(value), _) => words.push(format!("{place}={}", value.trim_matches('"'))),
            (None, Some(property))
                if is_object && !property.required().is_empty() && depth < DEEPEST =>
            {
                required(property, &format!("{place}."), depth + 1, words);
            }
            (None, _) if is_object => words.push(format!("{place}:='{{...}}'")),
            (None, _) if is_list_of_objects => words.push(format!("{place}:='[{{...}}]'")),
            (None, _) => words.push(format!("{place}=...")),
        }
    }
}

const DEEPEST: usize = 5;
const MOST_LINES: usize = 1000;
const LONGEST: usize = 2000;
const MOST_WORDS: usize = 10;
