//! The levels of log messages, which the protocol takes from syslog.

use super::Json;

/// The severity of a log message, from the least on (RFC 5424).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogLevel(usize);

impl LogLevel {
    /// Reads the name of a level; `None` if there is no such level.
    pub fn read(name: &Json) -> Option<Self> {
        let name = name.string()?;
        NAMES.iter().position(|level| *level == name).map(Self)
    }

    /// Reads the `level` of the params of a log message, or of a request to set it.
    pub fn of_params(params: &Json) -> Option<Self> {
        Self::read(&params.member("level")?)
    }

    /// Returns the name of the level.
    pub const fn name(self) -> &'static str {
        NAMES[self.0]
    }
}

const NAMES: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_known_by_name_and_ordered_by_severity() {
        let level = |name: &str| LogLevel::of_params(&Json::new(name.to_owned()).unwrap());

        assert_eq!(level(r#"{"level":"warning"}"#).map(LogLevel::name), Some("warning"));
        assert!(level(r#"{"level":"info"}"#) < level(r#"{"level":"error"}"#));
        for wrong in [r#"{"level":"Warning"}"#, r#"{"level":3}"#, r#"{"level":null}"#, "{}"] {
            assert_eq!(level(wrong), None, "{wrong}");
        }
    }
}
