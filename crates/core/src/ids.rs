//! The numbers by which the machine and its driver name things.
//!
//! Each is a counter of one link and is never used twice, so that late and unknown ids are recognised by
//! comparison.

use std::fmt;

macro_rules! counter {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// Creates the id with this number.
            pub const fn new(number: u64) -> Self {
                Self(number)
            }

            /// Returns the number.
            pub const fn number(self) -> u64 {
                self.0
            }

            /// Returns the id that follows this one.
            #[allow(dead_code, reason = "connections are numbered by the transport")]
            pub(crate) const fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

counter! {
    /// An exchange: one request, from its beginning to its single outcome.
    ExchangeId, "x"
}
counter! {
    /// An attempt: one HTTP request, or one connect, that the driver makes.
    AttemptId, "a"
}
counter! {
    /// A session inside the link; a renewal begins the next one.
    Generation, "g"
}
counter! {
    /// A connection to the server, as the transport numbers them.
    ConnectionId, "k"
}
counter! {
    /// The credentials in force; a renewal brings the next ones.
    CredentialsId, "c"
}
counter! {
    /// A notice: a message to the server that has no answer.
    NoticeId, "n"
}
counter! {
    /// A request of the server that waits for the application's answer.
    QuestionId, "q"
}
