//! How long a result may be kept, as its server says (caching, 2026-07-28).
//!
//! Only results of the stateless era have a lifetime. A legacy server's lists may depend on the session and
//! on earlier calls, so its `ttlMs` is no promise.

use std::time::Duration;

use serde::Deserialize;

use crate::message::Json;

/// How long a result may be kept, counted from its arrival, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// The time; never zero.
    pub time: Duration,
    /// The callers that may get it.
    pub scope: Scope,
}

/// The callers that may get a kept result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Those with equal credentials.
    #[default]
    Private,
    /// All callers.
    Public,
}

impl Lifetime {
    /// Reads the lifetime from the result of this method. `None` if the method allows no caching, or the time
    /// is absent, negative or unreadable.
    pub fn of(method: &str, result: &Json) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Said {
            ttl_ms: f64,
            #[serde(default)]
            cache_scope: Option<String>,
            #[serde(default)]
            is_error: Option<bool>,
        }

        if !METHODS.contains(&method) {
            return None;
        }
        let Said { ttl_ms, cache_scope, is_error } = result.read()?;
        let seconds = (ttl_ms / 1000.0).clamp(0.0, LONGEST.as_secs_f64());
        let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero())?;
        let scope = match cache_scope.as_deref() {
            Some("public") => Scope::Public,
            // An unknown scope must not make a result public.
            _ => Scope::Private,
        };
        (is_error != Some(true)).then_some(Self { time, scope })
    }
}

/// The methods whose results the revision allows to be kept.
const METHODS: [&str; 6] = [
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "tools/list",
];
/// The longest lifetime, so that a server's mistake does not last for ever.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_lives_as_long_as_its_server_says() {
        for (said, time) in [
            (r#"{"ttlMs":1}"#, Some(Duration::from_millis(1))),
            (r#"{"ttlMs":1500.5}"#, Some(Duration::from_micros(1_500_500))),
            (r#"{"ttlMs":1e300}"#, Some(LONGEST)),
            (r#"{"ttlMs":0}"#, None),
            (r#"{"ttlMs":-5}"#, None),
            (r#"{"ttlMs":null}"#, None),
            (r#"{"ttlMs":"60000"}"#, None),
            (r#"{"ttlMs":60000,"isError":true}"#, None),
            ("{}", None),
            ("[]", None),
        ] {
            let lifetime = Lifetime::of("tools/list", &json(said));

            assert_eq!(lifetime.map(|it| it.time), time, "{said}");
        }
    }

    #[test]
    fn what_is_not_said_to_be_for_everybody_is_not() {
        for (said, scope) in [
            (r#"{"ttlMs":1,"cacheScope":"public"}"#, Scope::Public),
            (r#"{"ttlMs":1,"cacheScope":"private"}"#, Scope::Private),
            (r#"{"ttlMs":1,"cacheScope":"PUBLIC"}"#, Scope::Private),
            (r#"{"ttlMs":1}"#, Scope::Private),
        ] {
            assert_eq!(Lifetime::of("tools/list", &json(said)).unwrap().scope, scope, "{said}");
        }
    }

    #[test]
    fn methods_that_the_revision_does_not_name_have_no_lifetime() {
        for method in ["tools/call", "prompts/get", "completion/complete", "acme/list"] {
            assert_eq!(Lifetime::of(method, &json(r#"{"ttlMs":1000}"#)), None, "{method}");
        }
    }

    fn json(text: &'static str) -> Json {
        Json::new(text).unwrap()
    }
}
