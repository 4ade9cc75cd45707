//! The rules of this side by which a call ends, or is delayed, where neither a status nor a failure says why.
//!
//! What decides compares variants. Their words for people stand here, once.

use std::fmt;

/// Declares the rules, each with its words, which are its documentation, too.
macro_rules! rules {
    ($($name:ident: $words:literal,)+) => {
        /// A rule of this side.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $words] $name,)+
        }

        impl Rule {
            /// Returns the rule in words.
            pub const fn words(self) -> &'static str {
                match self {
                    $(Self::$name => $words,)+
                }
            }
        }
    };
}

rules! {
    AcceptedOnly: "accepted, but no answer followed",
    AcceptedUnanswered: "accepted, but not answered",
    AfterRedirect: "refused where a redirect led",
    AsksForEver: "it asks for input again and again",
    AsksForNothing: "it asks for input and does not say for which",
    AsksForTooMuch: "it asks for more input than a call may carry",
    AsksUnreadably: "it asks for input in no readable way",
    AsksWhereNothingCanBeGiven: "it asks for input where none can be given",
    AwaitedCredentials: "it waited for credentials",
    AwaitedInput: "it waited for input for the server",
    AwaitedPlace: "it waited for a place among the calls in flight",
    BridgeEnded: "the bridge was told to end, or its input was closed",
    BudgetEmpty: "the retry budget of this server is empty",
    HintBeyondDeadline: "the wait for the server is longer than the time that the call has",
    HostCrowds: "the host waits for 10,000 requests, or for 256 MiB of them, and can wait for no more",
    InitializeUnanswered: "`initialize` was accepted but not answered",
    LostAgain: "lost again after it was renewed",
    NoAnswerInBody: "the body has answers, but not to this call",
    NoJsonRpc: "the body is no JSON-RPC message",
    NotificationsTooSlow: "the server takes notifications too slowly",
    NotRefusedLikewise: "a harmless request was not refused likewise",
    ParamsUnwritable: "its params could not be written as JSON",
    RefusedForm: "the server refused the form of the request",
    RefusedRenewed: "refused again with renewed credentials",
    ResultUnreadable: "rmcp cannot read the result",
    ResumedTooOften: "resumed too often",
    ResumeEmpty: "the resume was empty",
    RoundsOutsideSession: "the server has sessions, and the rounds of this call did not begin in one",
    RuntimeEnded: "the runtime of its client was shut down",
    StreamForgotten: "the server has forgotten the stream",
    SubscriptionNotAcknowledged: "the server did not acknowledge the subscription",
    TaskAsksForEver: "its task asks again and again",
    TaskNotEnded: "its task has not ended",
    TasksUnknown: "the server did not say in time whether it has tasks",
    ToldByFront: "so says a program between this one and the server",
    UndeclaredType: "the result is of a type that the server did not declare",
    WebPage: "it is a web page",
    WrongContentType: "the body has the wrong content type",
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}
