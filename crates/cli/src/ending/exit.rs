//! How a command that talks to a server ends, as an exit code for scripts.
//!
//! One rule holds for all commands: with 2, 4 and 5 the server certainly did not run what was asked. Doubt
//! has codes of its own.

use std::fmt;
use std::process::ExitCode;

use ridethrough::Error;
use ridethrough::error::{CallError, Kind, Reason};
use ridethrough::transport::Cause;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The deadline of the call passed.
    Deadline,
    /// The command succeeded.
    Done,
    /// This program failed: a file cannot be written, or an answer does not fit its question.
    Failure,
    /// There is no answer, and the server may have run the call.
    Interrupted,
    /// The server answered with an error, or against the protocol.
    Protocol,
    /// The server says that the tool failed.
    Tool,
    /// The credentials were refused.
    Unauthorized,
    /// The server cannot be reached, or turns every client away.
    Unreachable,
    /// The command was used in a way that cannot work; nothing was run.
    Usage,
}

impl Exit {
    /// Returns how a command ends whose call ended with this error.
    pub(crate) fn of(error: &Error) -> Self {
        let Some(kind) = error.kind() else { return Self::Protocol };
        let by_kind = match error.call() {
            Some(call) if is_unauthorized(call) => Self::Unauthorized,
            Some(call) if is_unreached(call) => Self::Unreachable,
            _ => by_kind(kind),
        };
        match by_kind {
            Self::Unauthorized | Self::Unreachable | Self::Usage if error.may_have_run() => {
                Self::Interrupted
            }
            exit => exit,
        }
    }

    /// Returns the exit code for scripts.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Tool => 3,
            Self::Unreachable => 4,
            Self::Unauthorized => 5,
            Self::Interrupted => 6,
            Self::Deadline => 7,
            Self::Protocol => 8,
        }
    }

    /// Returns the name of this ending in JSON.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::Done => "done",
            Self::Failure => "failure",
            Self::Interrupted => "interrupted",
            Self::Protocol => "protocol",
            Self::Tool => "tool",
            Self::Unauthorized => "unauthorized",
            Self::Unreachable => "unreachable",
            Self::Usage => "usage",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Whether credentials were asked for, or better ones.
pub(crate) fn is_unauthorized(call: &CallError) -> bool {
    // Without patience, a handshake that is forbidden ends as unreachable.
    status_of(call).is_some_and(is_forbidden) || call.kind == Kind::Unauthorized
}

/// Whether the deadline passed before any connection was made. Such a server counts as unreachable, however
/// short the time was.
pub(crate) fn is_unreached(call: &CallError) -> bool {
    let Reason::Transport(failure) = &call.reason else { return false };
    let is_of_connect = matches!(
        failure.cause,
        Cause::ConnectRefused | Cause::ConnectTimedOut | Cause::NameUnknown
    );
    call.kind == Kind::DeadlinePassed && call.attempts == 0 && is_of_connect
}

/// Returns the HTTP status by which a call ended.
pub(crate) fn status_of(call: &CallError) -> Option<u16> {
    match (call.kind, &call.reason) {
        (Kind::Rejected { status }, _) => Some(status),
        (_, Reason::Status(status)) => Some(status.as_u16()),
        (Kind::Unauthorized, _) => call.status.map(|it| it.as_u16()),
        _ => None,
    }
}

fn by_kind(kind: Kind) -> Exit {
    match kind {
        Kind::Config => Exit::Usage,
        Kind::DeadlinePassed => Exit::Deadline,
        Kind::Cancelled | Kind::Closed | Kind::Interrupted => Exit::Interrupted,
        Kind::Unauthorized => Exit::Unauthorized,
        // A busy server, or a balancer without one behind it, is as unreachable as none.
        Kind::Rejected { status: 408 | 425 | 429 | 500 | 502..=599 }
        | Kind::BreakerOpen
        | Kind::Exhausted
        | Kind::Unreachable => Exit::Unreachable,
        _ => Exit::Protocol,
    }
}

const fn is_forbidden(status: u16) -> bool {
    matches!(status, 401 | 403 | 407)
}

/// A failure of a command. It ends with the exit code that it names.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// How the command ends.
    pub(crate) exit: Exit,
    /// What happened.
    pub(crate) what: String,
    /// What was tried.
    pub(crate) tried: String,
    /// What to do.
    pub(crate) hint: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, tried, hint, .. } = self;
        write!(f, "error: {what}\n  tried: {tried}\n\nhint: {hint}")
    }
}

impl std::error::Error for Trouble {}

/// The table of exit codes in `--help`.
pub(crate) const TABLE: &str = "\
Exit codes of the commands that talk to a server:
  0  done
  1  this program failed: a file cannot be written, or an `--answer` does not fit what was asked
  2  wrong usage; nothing was run
  3  the server says that the tool failed
  4  the server cannot be reached, or turns everybody away; it did not run the call
  5  not authorized; the server did not run the call
  6  interrupted: there is no answer, and the server may have run the call
  7  the deadline passed; the message says whether the server may have run the call
  8  the server answered with an error, or with what breaks the protocol
  130, 143  stopped by Ctrl-C or a signal; the call was cancelled
`lab` and `demo` end with 0, 1 or 2 only: all held, something failed, wrong usage.";

#[cfg(test)]
mod tests {
    use ridethrough::call::CallName;
    use ridethrough::error::{CallError, Delivery};

    use super::*;

    #[test]
    fn what_may_have_run_never_ends_as_if_it_had_not() {
        for kind in [Kind::Unauthorized, Kind::Unreachable, Kind::Exhausted, Kind::BreakerOpen] {
            assert!([4, 5].contains(&Exit::of(&ended(kind, Delivery::NotSent)).code()), "{kind}");
            assert_eq!(Exit::of(&ended(kind, Delivery::Unknown)), Exit::Interrupted, "{kind}");
        }
    }

    #[test]
    fn statuses_are_told_apart_by_what_a_script_would_do() {
        let rejected = |status| Exit::of(&ended(Kind::Rejected { status }, Delivery::Refused));

        assert_eq!([401, 403, 407].map(rejected), [Exit::Unauthorized; 3]);
        assert_eq!([408, 425, 429, 500, 503].map(rejected), [Exit::Unreachable; 5]);
        assert_eq!([308, 400, 404, 501].map(rejected), [Exit::Protocol; 4]);
    }

    #[test]
    fn what_is_forbidden_ends_alike_with_patience_and_without() {
        let mut error = ended(Kind::Unreachable, Delivery::NotSent);
        let Error::Call(call) = &mut error else { unreachable!() };
        call.reason = Reason::Status(http::StatusCode::FORBIDDEN);

        assert_eq!(Exit::of(&error), Exit::Unauthorized);
    }

    #[test]
    fn the_table_has_a_line_for_every_code() {
        for code in 0..=8 {
            assert!(TABLE.contains(&format!("\n  {code}  ")), "{code}");
        }
    }

    fn ended(kind: Kind, delivery: Delivery) -> Error {
        let call = CallName { method: "tools/call".into(), tool: Some("deploy".into()) };
        Error::Call(CallError::new(kind, delivery, call, Reason::Nothing))
    }
}
