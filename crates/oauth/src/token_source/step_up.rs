//! More scope for a call that lacked it, by a person who is known only then.

use ridethrough_oauth_core::grant::LoginReason;
use ridethrough_oauth_core::scope::ScopeSet;
use ridethrough_oauth_core::store::GrantRecord;

use super::TokenSource;
use super::others::WantedLogin;
use crate::error::LoginFailure;
use crate::login::BegunBy;
use crate::person::Person;

impl TokenSource {
    /// Logs in by this person for all scopes that calls have lacked.
    pub(crate) async fn step_up_by(
        &self,
        person: &dyn Person,
    ) -> Result<GrantRecord, LoginFailure> {
        let mut last = self.login.lock().await;
        let wanted = self.memory().wanted_scope.clone();
        let Some(scopes) = wanted else {
            return Err(LoginFailure::TooSoon("no call lacks scope".to_owned()));
        };
        let reason = LoginReason::MoreScope(scopes.clone());
        if let Some(why) = last.as_ref().and_then(|last| last.forbids(&reason)) {
            return Err(LoginFailure::TooSoon(why));
        }
        let wanted = WantedLogin { scopes: Some(scopes.clone()), issuer: None };
        tokio::select! {
            biased;
            record = self.run_login(&mut last, Some(scopes), BegunBy::Call, Some(person)) => record,
            // A person who granted it there need not do so here as well.
            record = self.wait_for_other_login(&wanted) => Ok(record),
        }
    }

    /// Whether these scopes were asked for in the login of the token in force.
    pub(super) fn has_asked_for(&self, scopes: &ScopeSet) -> bool {
        let memory = self.memory();
        memory.record.as_ref().is_some_and(|record| record.requested.contains_all(scopes))
    }
}
