//! Finding and checking the marks in a schema.
//!
//! A mark counts only where the path to its argument is fixed: through `properties` and nothing else. In a
//! list, an alternative or a definition it would have no single value.

use std::collections::BTreeSet;
use std::fmt;

use http::HeaderName;

use super::Mirror;
use crate::message::Json;

/// Why a tool must not be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    why: &'static str,
    /// The path of the argument, from the outermost object inwards.
    path: String,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{MARK}` of {}: {}", self.path, self.why)
    }
}

impl std::error::Error for Unfit {}

pub(super) fn read(schema: &Json) -> Result<Vec<Mirror>, Unfit> {
    // Most schemas have no mark, and need not be walked.
    if memchr::memmem::find(schema.as_bytes(), MARK.as_bytes()).is_none() {
        return Ok(Vec::new());
    }
    let mut walk = Walk { mirrors: Vec::new(), names: BTreeSet::new() };
    walk.schema(schema, &mut Vec::new(), Way::Fixed, 0)?;
    Ok(walk.mirrors)
}

struct Walk {
    mirrors: Vec<Mirror>,
    /// The header names that are taken.
    names: BTreeSet<String>,
}

/// How a part of a schema is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Fixed,
    Open,
}

impl Walk {
    fn schema(
        &mut self,
        schema: &Json,
        path: &mut Vec<String>,
        way: Way,
        depth: usize,
    ) -> Result<(), Unfit> {
        if depth > DEEPEST {
            return Err(unfit("the schema is too deep to be searched", path));
        }
        for (key, part) in schema.members() {
            match key.as_str() {
                MARK => self.mark(schema, &part, path, way)?,
                "properties" => {
                    for (name, property) in part.members() {
                        path.push(name);
                        self.schema(&property, path, way, depth + 1)?;
                        path.pop();
                    }
                }
                // Text in these is data, and never a mark.
                "const" | "default" | "enum" | "examples" => {}
                _ => {
                    for part in part.elements().unwrap_or_else(|| vec![part]) {
                        self.schema(&part, path, Way::Open, depth + 1)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn mark(&mut self, schema: &Json, mark: &Json, path: &[String], way: Way) -> Result<(), Unfit> {
        let refuse = |why| Err(unfit(why, path));
        if way == Way::Open || path.is_empty() {
            return refuse("no fixed way leads to the argument");
        }
        if !is_primitive(schema) {
            return refuse("the argument must be a string, an integer or a boolean");
        }
        let Some(name) = mark.read::<String>().filter(|name| !name.is_empty()) else {
            return refuse("it must be the name of a header");
        };
        let Ok(header) = HeaderName::try_from(format!("mcp-param-{name}")) else {
            return refuse("no header can have that name");
        };
        if !self.names.insert(header.as_str().to_owned()) {
            return refuse("another argument has the same header");
        }
        self.mirrors.push(Mirror { header, path: path.to_vec() });
        Ok(())
    }
}

/// Whether the value has only one spelling. A number that need not be whole has many.
fn is_primitive(schema: &Json) -> bool {
    let kind = schema.member("type").and_then(|kind| kind.read::<String>());
    matches!(kind.as_deref(), Some("boolean" | "integer" | "string"))
}

fn unfit(why: &'static str, path: &[String]) -> Unfit {
    let path = match path {
        [] => "the arguments".to_owned(),
        names => format!("`{}`", names.join(".")),
    };
    Unfit { why, path }
}

const MARK: &str = "x-mcp-header";
/// The deepest nesting that is walked: more than a schema written by a person has.
const DEEPEST: usize = 64;
