//! Describes requests.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{Entry, What, form};

/// Describes requests: everything that is given must be true of them, so `{}` means all.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Match {
    /// The HTTP method.
    pub http: Option<String>,
    /// The path; with a `?` in it, path and query.
    pub path: Option<String>,
    /// The method of a JSON-RPC request.
    pub method: Option<String>,
    /// The tool that is called.
    pub tool: Option<String>,
    /// Arguments that the call must have, among others.
    pub args: Map<String, Value>,
    /// Parameters that the request or notification must have, among others.
    pub params: Map<String, Value>,
    /// The method of a notification, without `notifications/`.
    pub notification: Option<String>,
    /// Whether it resumes a stream.
    pub resume: Option<bool>,
    /// Whether it opens the standing stream.
    pub listen: Option<bool>,
    /// Whether it ends the session.
    pub delete: Option<bool>,
    /// The event after which it resumes.
    pub last_event_id: Option<String>,
    /// The session that it names: the lab's are `lab-session-1` and so on.
    pub session: Option<String>,
    /// Whether it names a session.
    pub has_session: Option<bool>,
    /// Parameters that the query or the form in its body must have, with these values.
    pub form: Fields,
    /// Parameters that neither the query nor the form may have.
    pub form_lacks: Vec<String>,
    /// Headers that it must have, with these values.
    pub headers: Fields,
    /// Headers that it must not have.
    pub lacks: Vec<String>,
}

impl Match {
    /// Whether it describes this request.
    pub fn holds(&self, entry: &Entry) -> bool {
        let text = |wanted: &Option<String>, seen: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| Some(wanted) == seen)
        };
        let flag = |wanted: Option<bool>, seen: bool| wanted.is_none_or(|wanted| wanted == seen);
        let (method, tool, notification) = words(&entry.what);
        text(&self.http, Some(entry.http.as_str()))
            && text(&self.path, Some(path_of(&entry.target, self.path.as_deref())))
            && text(&self.method, method)
            && text(&self.tool, tool)
            && text(&self.notification, notification)
            && flag(self.resume, entry.what == What::Resume)
            && flag(self.listen, entry.what == What::Listen)
            && flag(self.delete, entry.what == What::Delete)
            && text(&self.last_event_id, entry.last_event_id.as_deref())
            && text(&self.session, entry.session.as_deref())
            && flag(self.has_session, entry.session.is_some())
            && self.headers.iter().all(|(name, value)| entry.header(name) == Some(value))
            && self.lacks.iter().all(|name| !entry.headers.contains_key(name))
            && self.form_holds(entry)
            && self.body_holds(entry)
    }

    fn form_holds(&self, entry: &Entry) -> bool {
        if self.form.is_empty() && self.form_lacks.is_empty() {
            return true;
        }
        let (_, mut seen) = form::target(&entry.target);
        seen.extend(form::parameters(&String::from_utf8_lossy(&entry.body)));
        self.form.iter().all(|(name, value)| seen.get(name) == Some(value))
            && self.form_lacks.iter().all(|name| !seen.contains_key(name))
    }

    fn body_holds(&self, entry: &Entry) -> bool {
        if self.args.is_empty() && self.params.is_empty() {
            return true;
        }
        let message: Value = serde_json::from_slice(&entry.body).unwrap_or_default();
        let params = &message["params"];
        is_among(&self.params, params) && is_among(&self.args, &params["arguments"])
    }
}

/// Returns the part of a target that is compared with the wanted path.
fn path_of<'a>(target: &'a str, wanted: Option<&str>) -> &'a str {
    let is_whole = wanted.is_some_and(|wanted| wanted.contains('?'));
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    if is_whole { target } else { path }
}

/// Whether every wanted member is present, with its value.
fn is_among(wanted: &Map<String, Value>, seen: &Value) -> bool {
    wanted.iter().all(|(name, value)| seen.get(name) == Some(value))
}

/// Returns the method and tool of a request, and the method of a notification.
fn words(what: &What) -> (Option<&str>, Option<&str>, Option<&str>) {
    match what {
        What::Request { method, tool } => (Some(method), tool.as_deref(), None),
        What::Notification { method } => {
            (None, None, Some(method.strip_prefix("notifications/").unwrap_or(method)))
        }
        What::Delete | What::Listen | What::Other | What::Response | What::Resume => {
            (None, None, None)
        }
    }
}

/// Names of headers and their values.
pub(super) type Fields = BTreeMap<String, String>;
