//! What is true of tokens: which were replaced, which have ended, and who may send them.

use std::time::Duration;

use tokio::time::Instant;

use super::AuthOracle;
use crate::auth::faults::AuthFault;
use crate::auth::form::Form;
use crate::auth::grants::{Issued, Issuer};

impl AuthOracle {
    /// Records that a refresh token arrived, and judges whether it may be sent.
    pub(in crate::auth) fn refresh_arrived(&mut self, issuer: Issuer, refresh: &str) {
        self.note(|| format!("{} is sent {refresh}", issuer.name()));
        self.count("refreshes");
        let grants = self.grants(issuer);
        let is_replaced = grants.is_replaced(refresh);
        let is_known = grants.is_successor_stored(refresh);
        let is_ended = grants.is_ended(refresh);
        let Some(token) = grants.refresh_token(refresh) else {
            return self.broken("only what was issued is sent", refresh.to_owned());
        };
        let is_answer_lost = token.is_answer_lost;
        if !is_ended && is_replaced && (is_known || !is_answer_lost) {
            let why = if is_known { "its successor is stored" } else { "its answer was not lost" };
            self.broken(ONCE, format!("{refresh}: {why}"));
        }
        let many = Self::lately(&mut self.refreshes, Duration::from_secs(10));
        let most = 10 + 6 * self.shape.processes + 2 * self.started as usize;
        if many > most {
            self.broken("no storm of refreshes", format!("{many} within 10 s"));
        }
    }

    /// Answers a request for tokens, as the issuer would.
    pub(in crate::auth) fn tokens_for(
        &mut self,
        issuer: Issuer,
        form: &Form,
    ) -> Result<Issued, (u16, &'static str)> {
        let field = |name: &str| form.get(name).map_or("", String::as_str);
        if !self.grants(issuer).knows_client(field("client_id")) {
            return Err((401, "invalid_client"));
        }
        let answer = match field("grant_type") {
            "authorization_code" => self.exchange(issuer, form),
            "refresh_token" => self.renew(issuer, field("refresh_token")),
            _ => Err((400, "unsupported_grant_type")),
        };
        self.reconsider();
        answer
    }

    fn exchange(&mut self, issuer: Issuer, form: &Form) -> Result<Issued, (u16, &'static str)> {
        let field = |name: &str| form.get(name).map_or("", String::as_str);
        let Some(code) = self.grants(issuer).take_code(field("code")) else {
            self.broken("a code is used once", field("code").to_owned());
            return Err((400, "invalid_grant"));
        };
        if code.is_poisoned {
            self.broken("a code of somebody else is not used", field("code").to_owned());
            return Err((400, "invalid_grant"));
        }
        let is_right = code.client == field("client_id")
            && code.redirect_uri == field("redirect_uri")
            && field("code_verifier").len() >= 43
            && field("resource") == crate::auth::addresses::RESOURCE;
        if !is_right {
            self.broken("a code is sent as it was asked for", format!("{form:?}"));
        }
        self.count("logins");
        Ok(self.grants(issuer).log_in(&code.scope))
    }

    fn renew(&mut self, issuer: Issuer, refresh: &str) -> Result<Issued, (u16, &'static str)> {
        let is_excused = self.faults.has(&[AuthFault::ClockJumps]) || issuer != self.named;
        let grants = self.grants(issuer);
        let is_lost = grants.refresh_token(refresh).is_none_or(|it| it.is_answer_lost);
        if grants.is_fresh(refresh) && !grants.is_replaced(refresh) && !is_lost && !is_excused {
            self.broken("nothing is renewed that is fresh", refresh.to_owned());
        }
        let renewed = self.grants(issuer).renew(refresh);
        if renewed.is_none() {
            self.refused(issuer, refresh);
        }
        renewed.ok_or((400, "invalid_grant"))
    }

    /// Whoever was told that a refresh token has ended does not send it again.
    fn refused(&mut self, issuer: Issuer, refresh: &str) {
        let Some(token) = self.grants(issuer).refresh_token(refresh) else { return };
        token.refused_dead += 1;
        let times = token.refused_dead;
        if times > 2 * self.started {
            let what = format!("{refresh} was refused {times} times");
            self.broken("a refresh token that has ended is left alone", what);
        }
    }

    /// Records that a request for tokens met trouble.
    pub(in crate::auth) fn trouble(&mut self, fault: AuthFault, refresh: Option<&str>) {
        self.troubles.push_back(Instant::now());
        let Some(refresh) = refresh else { return };
        let issuer = if refresh.contains(".two.") { Issuer::Two } else { Issuer::One };
        let Some(token) = self.grants(issuer).refresh_token(refresh) else { return };
        match fault {
            AuthFault::LostAfter | AuthFault::TooLate => {
                token.is_answer_lost = true;
                // A refusal that was lost was told to nobody.
                token.refused_dead = token.refused_dead.saturating_sub(1);
            }
            AuthFault::Refusal => token.refusals += 1,
            _ => {}
        }
        self.reconsider();
    }

    /// How long a client may take to leave. It waits for a refresh that is under way, for 15 s at most: one
    /// that met trouble has 10 s for its answer, and its repetition 10 s more.
    pub(in crate::auth) fn longest_close(&self) -> Duration {
        let recent = |at: &Instant| at.elapsed() < Duration::from_secs(25);
        Duration::from_secs(if self.troubles.back().is_some_and(recent) { 16 } else { 6 })
    }

    /// Records that an issuer cannot be reached, or can be again.
    pub(in crate::auth) fn outage(&mut self) {
        self.troubles.extend([Instant::now(), Instant::now()]);
    }

    /// Ends an access token before its time, if that is not too much at once.
    pub(in crate::auth) fn revoke_early(&mut self, token: &str) {
        let now = Instant::now();
        let window = Duration::from_secs(30 * 60);
        self.early_ends.retain(|at| now.duration_since(*at) < window);
        let Some(issuer) = issuer_of(token) else { return };
        if self.early_ends.len() < 4 && self.grants(issuer).revoke_early(token) {
            self.note(|| format!("{token} is revoked"));
            self.early_ends.push_back(now);
        }
    }

    /// The scope of an access token, if the MCP server takes it.
    pub(super) fn scope_of(&mut self, token: &str) -> Option<String> {
        let issuer = issuer_of(token).filter(|it| *it == self.named)?;
        self.grants(issuer).scope_of(token).map(str::to_owned)
    }
}

fn issuer_of(token: &str) -> Option<Issuer> {
    [Issuer::One, Issuer::Two].into_iter().find(|it| token.contains(&format!(".{}.", it.name())))
}

const ONCE: &str = "a refresh token is sent again only after its answer was lost";
