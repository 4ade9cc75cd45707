//! The numbers by which the machine and its driver name things.
//!
//! Each is a counter of one link and is never used twice, so "late" and "foreign" are comparisons.

use std::fmt;

macro_rules! counter {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// The id with this number.
            pub const fn new(number: u64) -> Self {
                Self(number)
            }

            /// The number itself.
            pub const fn number(self) -> u64 {
                self.0
            }

            /// The id that follows this one.
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
    /// One request of the application, from its beginning to its single outcome.
    ExchangeId, "x"
}
counter! {
    /// One HTTP request, or one connect, that the driver was asked to make.
    AttemptId, "a"
}
counter! {
    /// One protocol session inside the link; a renewal begins the next one.
    Generation, "g"
}
counter! {
    /// One connection to the server, as the transport numbers them.
    ConnectionId, "k"
}
counter! {
    /// The credentials in force; a renewal brings the next ones.
    CredentialsId, "c"
}
counter! {
    /// A message that we owe the server and that has no answer.
    NoticeId, "n"
}
counter! {
    /// A request of the server that waits for the application's answer.
    QuestionId, "q"
}
