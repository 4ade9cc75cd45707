//! The life of a grant, step by step; what several tests use is here.

mod clocks;
mod others;
mod refusals;
mod renewal;

use std::time::Duration;

use http::StatusCode;

use super::*;
use RefreshOutcome::Answered;

const START: Timestamp = Timestamp::from_unix_secs(1_000_000);

fn at(secs: u64) -> Timestamp {
    START + Duration::from_secs(secs)
}

/// Returns tokens `a<number>` and `r<number>` that came at the start and end at `end`.
fn tokens(number: u64, end: u64) -> Tokens {
    Tokens {
        refresh: Some(Secret::new(format!("r{number}"))),
        expires_at: Some(at(end)),
        ..Tokens::new(Secret::new(format!("a{number}")), START)
    }
}

fn grant(tokens: Tokens) -> Grant {
    Grant::new(Some(tokens), ScopeSet::default(), RepeatScope::Yes)
}

fn use_token(number: u64) -> Effect {
    Effect::UseToken(Secret::new(format!("a{number}")))
}

fn begin_refresh(grant: &mut Grant, now: Timestamp) -> Effect {
    let store = grant.want_token(now);
    let refresh = grant.handle_store(now, id(&store), None).unwrap();
    assert!(matches!(refresh, Effect::RefreshWith { .. }), "{refresh:?}");
    refresh
}

fn refuse(grant: &mut Grant, secs: u64, token: &str) -> Effect {
    grant.token_refused(at(secs), &Secret::new(token), AccessRefusal::Token).unwrap()
}

/// Renews the tokens, which come at this time.
fn renew(grant: &mut Grant, secs: u64, number: u64) {
    let store = grant.want_token(at(secs));
    let refresh = grant.handle_store(at(secs), id(&store), None).unwrap();
    let new = Tokens { received_at: at(secs), ..tokens(number, 360_000) };
    grant.handle_refresh(at(secs), id(&refresh), Answered(Ok(new)));
}

/// Refuses a token if it is the one that is used, and asks for another as the next call would.
fn refuse_and_ask(grant: &mut Grant, secs: u64, number: u64) -> Option<Effect> {
    let effect = refuse(grant, secs, &format!("a{number}"));
    grant.handle_store(at(secs), id(&effect), None)
}

fn id(effect: &Effect) -> u64 {
    match effect {
        Effect::AskStore { id, .. } | Effect::RefreshWith { id, .. } => *id,
        other => panic!("{other:?}"),
    }
}

fn sent(effect: &Effect) -> &str {
    match effect {
        Effect::RefreshWith { refresh_token, .. } => refresh_token.expose(),
        other => panic!("{other:?}"),
    }
}

fn useless(refresh: &str) -> RefreshOutcome {
    let words = "no identity".to_owned();
    RefreshOutcome::Useless { refresh: Some(Secret::new(refresh)), words }
}

fn dead() -> TokenError {
    TokenError::GrantDead { words: "gone".into() }
}

fn refused(code: &str) -> TokenError {
    let code = Some(code.to_owned());
    TokenError::Refused { status: StatusCode::BAD_REQUEST, code, words: "no".into() }
}
