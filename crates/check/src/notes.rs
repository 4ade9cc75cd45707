//! What was found out about a server, as data for the report.

use std::time::Duration;

use ridethrough_terminal::secrets;
use serde::Serialize;

use crate::authorization_seen::AuthorizationSeen;
use crate::finding::{Finding, Subject};

/// What was found out so far, as the report shows it.
#[derive(Default)]
pub struct Notes {
    /// The address, without its query.
    pub(crate) server: String,
    pub(crate) server_name: Option<String>,
    pub(crate) revision: Option<String>,
    /// Whether the server speaks the stateless revision, if that is known.
    pub(crate) is_modern: Option<bool>,
    pub(crate) findings: Vec<Finding>,
    /// The challenge of a refusal, as the server sent it.
    pub(crate) challenge: Option<String>,
    /// How people log in, if that was examined.
    pub(crate) authorization: Option<AuthorizationSeen>,
    pub(crate) figures: CheckFigures,
    pub(crate) tools: Vec<Tool>,
}

/// The measurements of a check.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckFigures {
    pub(crate) resolve_ms: Option<f64>,
    pub(crate) connect_ms: Option<f64>,
    pub(crate) tls_ms: Option<f64>,
    pub(crate) initialize_ms: Option<f64>,
    pub(crate) tools_list_ms: Option<f64>,
    pub(crate) ping_p50_ms: Option<f64>,
    pub(crate) ping_p90_ms: Option<f64>,
    pub(crate) ping_max_ms: Option<f64>,
    pub(crate) ping_ms: Vec<f64>,
}

impl Notes {
    /// Begins the notes on this server, whose name may be shown.
    pub fn on(server: String) -> Self {
        Self { server, ..Self::default() }
    }

    /// Notes that the server's certificate is not checked.
    pub fn certificate_is_unchecked(&mut self) {
        self.add(Subject::Safety.warning("certificate", UNCHECKED).advise(CHECK_IT));
    }

    /// Adds a finding. The server's words in it were masked when they were put there.
    pub(crate) fn add(&mut self, mut finding: Finding) {
        finding.what = secrets::masked_in_ours(&finding.what);
        finding.advice = finding.advice.map(|it| secrets::masked_in_ours(&it));
        self.findings.push(finding);
    }

    /// Words the finding about the standing stream as one that holds in a session only: our commands have
    /// none with this server.
    pub(crate) fn confine_standing_stream(&mut self) {
        let standing = self.findings.iter_mut().filter(|it| it.name == "standing");
        standing.for_each(|it| it.what = format!("in a session: {}", it.what));
    }
}

/// A tool, and how our client treats a call of it that is in doubt.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) repeat: Repeat,
    /// The reason, in words.
    pub(crate) because: &'static str,
}

/// Whether a call in doubt is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Repeat {
    /// Our client sends it again by itself.
    Always,
    /// Our client sends it again if a person says that it may.
    IfMarked,
}

/// Returns a time in milliseconds, to the microsecond.
pub(crate) fn in_millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

const UNCHECKED: &str = "its certificate is not checked (--insecure): anybody who answers in its place reads \
                         and changes everything, tokens too";
const CHECK_IT: &str =
    "name the server's certificate with `--cacert FILE` in place of `--insecure`";
