//! The tools: how many, whether they are well formed, and which may be sent again when in doubt.

use std::collections::BTreeMap;
use std::time::Duration;

use ridethrough::Json;
use ridethrough::call::CallName;
use ridethrough::machine::hints::OperatorHints;
use ridethrough::machine::replay::{KnownTools, ReplayRule};
use ridethrough::model::ToolAnnotations;
use ridethrough::policy::TrustHints;
use ridethrough_terminal::secrets;
use serde_json::{Value, json};

use crate::finding::{Finding, Subject};
use crate::hello::Hello;
use crate::notes::{Notes, Repeat, Tool, in_millis};
use crate::question::Visit;
use crate::refusal::TYPED;
use crate::wire::{Wire, millis};

/// Lists the tools and reports on them.
pub(crate) async fn look(wire: &mut Wire, hello: &Hello, said: &OperatorHints, notes: &mut Notes) {
    if !hello.has_tools {
        return notes.add(Subject::Tools.note("list", "says that it has no tools"));
    }
    let (list, end) = List::read(wire, &hello.visit, notes).await;
    if let (0, ListEnd::Failed(finding)) = (list.pages, &end) {
        return notes.add(finding.clone());
    }
    tell(&list.tools, &list.known, said, notes);
    if let Some(finding) = end.judge(list.tools.len()) {
        notes.add(finding);
    }
}

/// Reports on tools that were listed.
pub(crate) fn tell(listed: &[Json], known: &KnownTools, said: &OperatorHints, notes: &mut Notes) {
    judge(listed, notes);
    let tools = listed.iter().filter_map(|tool| classify(tool, known, said));
    // The name is needed unmasked until here.
    let hidden = tools.map(|tool| Tool { name: secrets::masked(&tool.name), ..tool });
    notes.tools = hidden.collect();
}

/// The list, as far as it was read.
#[derive(Default)]
struct List {
    tools: Vec<Json>,
    known: KnownTools,
    pages: usize,
}

/// Why no more of the list was read.
enum ListEnd {
    /// A page names itself as the next.
    Circle,
    /// A page could not be read.
    Failed(Finding),
    /// The list is longer than a report can use.
    Long,
    Whole,
}

impl List {
    async fn read(wire: &mut Wire, visit: &Visit, notes: &mut Notes) -> (Self, ListEnd) {
        let mut list = Self::default();
        let mut cursor: Option<String> = None;
        while list.pages < MOST_PAGES && list.tools.len() <= MOST_TOOLS {
            let params = cursor.as_ref().map_or(Value::Null, |cursor| json!({"cursor": cursor}));
            let (result, took) = match page(wire, visit, params).await {
                Ok(page) => page,
                Err(finding) => return (list, ListEnd::Failed(finding)),
            };
            if list.pages == 0 {
                notes.figures.tools_list_ms = Some(in_millis(took));
                let what = format!("`tools/list` takes {}", millis(took));
                notes.add(Subject::Speed.good("tools", what));
            }
            list.take(&result);
            let next = result.member("nextCursor").and_then(|it| it.read::<String>());
            match next {
                None => return (list, ListEnd::Whole),
                next if next == cursor => return (list, ListEnd::Circle),
                next => cursor = next,
            }
        }
        list.tools.truncate(MOST_TOOLS);
        (list, ListEnd::Long)
    }

    fn take(&mut self, page: &Json) {
        self.known.learn(page, self.pages == 0);
        self.tools.extend(page.member("tools").and_then(|it| it.elements()).unwrap_or_default());
        self.pages += 1;
    }
}

impl ListEnd {
    fn judge(self, read: usize) -> Option<Finding> {
        match self {
            Self::Whole => None,
            Self::Circle => Some(
                Subject::Tools
                    .warning("rest", "its list circles: a page names itself as the next one")
                    .advise("let the last page of `tools/list` have no `nextCursor`"),
            ),
            Self::Failed(finding) => Some(Finding {
                name: "rest",
                what: format!("after the first {read}, {}", finding.what),
                ..finding
            }),
            Self::Long => {
                Some(Subject::Tools.note(
                    "rest",
                    format!("lists more tools: only the first {read} were looked at"),
                ))
            }
        }
    }
}

/// Returns a page of the list and how long it took, or why there is none.
async fn page(wire: &mut Wire, visit: &Visit, params: Value) -> Result<(Json, Duration), Finding> {
    let ask = wire.request_of(visit, "tools/list", params).at_most(LARGEST);
    let unknown = |because: String| Subject::Tools.unknown("list", "the tools", because);
    let seen = wire.ask(ask).await.map_err(|miss| unknown(miss.to_string()))?;
    match seen.result() {
        Some(result) => Ok((result.clone(), seen.took)),
        None if seen.is_mistyped => {
            let what = format!(
                "answers `tools/list` with JSON-RPC as `{}`: our client does not read a success \
                 of that type",
                seen.kind()
            );
            Err(Subject::Tools.bad("list", what).advise(TYPED))
        }
        None => {
            let brings = || format!("`tools/list` brings {}", seen.words());
            Err(unknown(seen.unfinished().unwrap_or_else(brings)))
        }
    }
}

fn judge(tools: &[Json], notes: &mut Notes) {
    let names: Vec<_> = tools.iter().filter_map(name).collect();
    notes.add(match names.len() {
        0 => Subject::Tools.note("list", "lists no tools"),
        1 => Subject::Tools.good("list", "lists 1 tool"),
        count => Subject::Tools.good("list", format!("lists {count} tools")),
    });
    let mut counts = BTreeMap::new();
    for name in &names {
        *counts.entry(name.as_str()).or_insert(0) += 1;
    }
    let twice: Vec<_> =
        counts.iter().filter(|(_, count)| **count > 1).map(|(name, _)| *name).collect();
    if !twice.is_empty() {
        let what =
            format!("lists {} more than once: nobody can tell which is called", shown(&twice));
        notes.add(
            Subject::Tools.warning("duplicates", what).advise("give every tool a name of its own"),
        );
    }
    let odd: Vec<_> = tools.iter().filter(|tool| !has_schema(tool)).filter_map(name).collect();
    if !odd.is_empty() {
        let what = format!(
            "{}: the input schema is no object of type `object`; many hosts refuse such tools",
            shown(&odd)
        );
        notes.add(
            Subject::Tools
                .warning("schemas", what)
                .advise("give every tool an `inputSchema` with `\"type\": \"object\"`"),
        );
    }
    let torn: Vec<_> = tools.iter().filter(|tool| contradicts(tool)).filter_map(name).collect();
    if !torn.is_empty() {
        let what = format!("{}: says that it only reads and that it destroys", shown(&torn));
        let advice = "correct the annotations: a call that only reads is sent again when in doubt";
        notes.add(Subject::Tools.warning("hints", what).advise(advice));
    }
    if names.len() < tools.len() {
        let what = format!("{} entries of the list have no name", tools.len() - names.len());
        notes.add(Subject::Tools.warning("names", what).advise("give every tool a name"));
    }
}

fn classify(tool: &Json, known: &KnownTools, said: &OperatorHints) -> Option<Tool> {
    let name = name(tool)?;
    let hints = annotations(tool);
    let rule = said.rule(&name);
    let call = CallName { method: "tools/call".into(), tool: Some(name.as_str().into()) };
    let repeat = if known.is_safe(&call, rule, TrustHints::default()) {
        Repeat::Always
    } else {
        Repeat::IfMarked
    };
    let says = |hint: Option<bool>| hint == Some(true);
    let because = match () {
        () if rule == ReplayRule::Repeatable => "you marked it",
        () if rule == ReplayRule::Once => "you said that it writes",
        () if says(hints.read_only_hint) => "only reads",
        () if says(hints.idempotent_hint) => "says that it can run twice",
        () if says(hints.destructive_hint) => "may destroy",
        () => "says nothing",
    };
    Some(Tool { name, repeat, because })
}

fn name(tool: &Json) -> Option<String> {
    tool.member("name")?.read::<String>().filter(|name| !name.is_empty())
}

fn annotations(tool: &Json) -> ToolAnnotations {
    tool.member("annotations").and_then(|it| it.read()).unwrap_or_default()
}

fn has_schema(tool: &Json) -> bool {
    let kind = tool.member("inputSchema").and_then(|it| it.member("type"));
    kind.and_then(|it| it.read::<String>()).is_some_and(|kind| kind == "object")
}

fn contradicts(tool: &Json) -> bool {
    let hints = annotations(tool);
    hints.read_only_hint == Some(true) && hints.destructive_hint == Some(true)
}

fn shown<T: AsRef<str>>(names: &[T]) -> String {
    let some = names.iter().take(5).map(|it| format!("`{}`", secrets::cut(it.as_ref())));
    let some: Vec<_> = some.collect();
    match names.len().saturating_sub(5) {
        0 => some.join(", "),
        more => format!("{} and {more} more", some.join(", ")),
    }
}

const MOST_PAGES: usize = 10;
const MOST_TOOLS: usize = 2000;
/// The most bytes of one page: room for tools with long descriptions.
const LARGEST: usize = 4 << 20;
