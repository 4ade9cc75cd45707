//! Answers that ask for better credentials without a challenge: checked by a question before a call is sent
//! again.
//!
//! ```text
//!   401, bare ──a harmless question under the same credentials──▶ 401: refused, renewed, and sent again
//!                                                            └──▶ anything else: in doubt
//! ```
//! Frameworks pass on the status of the service behind a tool. A guard before the server refuses every request
//! under these credentials, and most of them say in a challenge what they ask for.

use std::time::Duration;

use super::Calls;
use crate::answer::status;
use crate::exchange::{Exchange, HeldBack, Purpose, State, Waiting};
use crate::ids::{CredentialsId, ExchangeId};
use crate::link::effects::CallEffect;
use crate::link::own_request::{OwnOutcome, OwnRequest};
use crate::output::Route;

impl Calls {
    /// Holds back a bare 401 until the server was asked.
    pub(super) fn doubt_credentials(&mut self, id: ExchangeId) {
        let credentials = self.credentials_of(id);
        let connection = self.all.get(id).and_then(Exchange::live).and_then(|live| live.connection);
        self.enter(id, State::Doubted(Box::new(HeldBack::Credentials(credentials))));
        if self.base.health.has_refused_credentials(credentials) {
            return self.resolve_credentials(id, true);
        }
        if credentials != self.base.cx.credentials {
            // A question goes out under the credentials in force, and says nothing of those before.
            return self.resolve_credentials(id, false);
        }
        let is_asked = |it: &Exchange| it.origin.question() == Some(Purpose::Credentials);
        if self.all.ids_where(is_asked).is_empty() {
            let method = self.base.health.question(false);
            let request = OwnRequest::new(Purpose::Credentials, method, LIMIT);
            let route = connection.map_or(Route::Any, Route::Prefer);
            self.ask(OwnRequest { route, ..request });
        }
    }

    /// Handles the reply to a harmless request under the credentials in question.
    pub(super) fn credentials_told(&mut self, word: OwnOutcome) {
        let refused = match word {
            OwnOutcome::Answered(reply) if status::is_unauthorized(reply.head.status) => {
                self.base.health.credentials_refused(reply.credentials);
                Some(reply.credentials)
            }
            _ => None,
        };
        for (id, credentials) in self.doubted_credentials() {
            let is_confirmed = refused == Some(credentials);
            self.base.cx.then(CallEffect::ResolveCredentials(id, is_confirmed));
        }
    }

    /// Tells one call whether its credentials were refused for a harmless request, too.
    pub(super) fn resolve_credentials(&mut self, id: ExchangeId, is_confirmed: bool) {
        let Some(exchange) = self.all.get_mut(id) else { return };
        let Some(credentials) = credentials_in_doubt(exchange) else { return };
        exchange.state = State::Waiting(Waiting::SessionCheck);
        if !is_confirmed {
            // A guard of this method alone refuses later calls, too, until the credentials are better.
            self.base.credentials.renew_on_suspicion(&mut self.base.cx, credentials, None);
        }
        self.decide(id, |exchange, rules| exchange.credentials_judged(rules, is_confirmed));
    }

    fn doubted_credentials(&self) -> Vec<(ExchangeId, CredentialsId)> {
        let doubted =
            |it: &Exchange| credentials_in_doubt(it).map(|credentials| (it.id, credentials));
        self.all.iter().filter_map(doubted).collect()
    }
}

/// Returns the credentials that an answer to the call refused without a challenge, while that is checked.
fn credentials_in_doubt(exchange: &Exchange) -> Option<CredentialsId> {
    match &exchange.state {
        State::Doubted(doubt) => match **doubt {
            HeldBack::Credentials(credentials) => Some(credentials),
            HeldBack::Era(_) | HeldBack::Session(_) => None,
        },
        _ => None,
    }
}

/// How long the question may take.
const LIMIT: Duration = Duration::from_secs(10);
