//! Properties of a grant, for every sequence of events.

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;
use proptest::prelude::*;
use ridethrough_oauth_core::grant::{AccessRefusal, Effect, Grant, RefreshOutcome, RepeatScope};
use ridethrough_oauth_core::scope::ScopeSet;
use ridethrough_oauth_core::token_answer::TokenError;
use ridethrough_oauth_core::tokens::Tokens;
use ridethrough_oauth_core::{Secret, Timestamp};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_refresh_token_is_sent_again_only_if_its_last_answer_left_it_alive(
        events in proptest::collection::vec(event(), 0..120),
    ) {
        let mut world = World::new();
        for event in events {
            world.happen(event);
            prop_assert_eq!(&world.violation, &None);
        }
    }

    #[test]
    fn no_token_costs_a_storm_of_refreshes(
        events in proptest::collection::vec(prop_oneof![60 => trouble(), 1 => event()], 0..300),
    ) {
        let mut world = World::new();
        // The access token has ended.
        world.happen(Event::Pass(5000));
        world.held_since = world.now;
        for event in events {
            world.happen(event);
            let elapsed = world.now.since(world.held_since).as_secs();
            let most = MOST_AT_FIRST + elapsed / LONGEST_WAIT;
            prop_assert!(world.refreshes <= most, "{} in {elapsed} s", world.refreshes);
        }
    }

    #[test]
    fn a_token_is_never_used_after_it_was_refused(
        events in proptest::collection::vec(event(), 0..120),
    ) {
        let mut world = World::new();
        for event in events {
            world.happen(event);
            if let Effect::UseToken(token) = &world.last {
                prop_assert!(!world.refused.contains(token.expose()));
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Answer(Answer),
    LateAnswer(Answer),
    LogIn,
    Pass(u64),
    Refuse,
    Store(Stored),
    Want,
}

#[derive(Clone, Copy, Debug)]
enum Answer {
    ClientDead,
    GrantDead,
    InvalidRequest,
    InvalidScope,
    Kept,
    Lost,
    Nonce,
    Rotated,
    Transient,
}

#[derive(Clone, Copy, Debug)]
enum Stored {
    Failure,
    Newer,
    NewerWithOldRefreshToken,
    Nothing,
    Ours,
}

fn event() -> impl Strategy<Value = Event> {
    let answer = || {
        prop_oneof![
            1 => Just(Answer::ClientDead),
            1 => Just(Answer::GrantDead),
            1 => Just(Answer::InvalidRequest),
            1 => Just(Answer::InvalidScope),
            1 => Just(Answer::Kept),
            3 => Just(Answer::Lost),
            1 => Just(Answer::Nonce),
            2 => Just(Answer::Rotated),
            4 => Just(Answer::Transient),
        ]
    };
    let stored = prop_oneof![
        1 => Just(Stored::Failure),
        1 => Just(Stored::Newer),
        1 => Just(Stored::NewerWithOldRefreshToken),
        4 => Just(Stored::Nothing),
        4 => Just(Stored::Ours),
    ];
    prop_oneof![
        5 => answer().prop_map(Event::Answer),
        1 => answer().prop_map(Event::LateAnswer),
        1 => Just(Event::LogIn),
        4 => prop_oneof![0..5u64, 0..100u64, 0..5000u64].prop_map(Event::Pass),
        2 => Just(Event::Refuse),
        5 => stored.prop_map(Event::Store),
        6 => Just(Event::Want),
    ]
}

/// Returns events of a token endpoint that answers nothing of use, with little time in between.
fn trouble() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => Just(Event::Answer(Answer::InvalidScope)),
        2 => Just(Event::Answer(Answer::Lost)),
        1 => Just(Event::Answer(Answer::Nonce)),
        2 => Just(Event::Answer(Answer::Transient)),
        1 => (0..5u64).prop_map(Event::Pass),
        4 => Just(Event::Store(Stored::Ours)),
        3 => Just(Event::Want),
    ]
}

/// The outcome of the last sending of a refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Nothing speaks against sending it again.
    Alive,
    /// It was refused, or replaced.
    Dead,
    Out,
}

struct World {
    grant: Grant,
    now: Timestamp,
    number: u64,
    fates: BTreeMap<String, Fate>,
    refused: std::collections::BTreeSet<String>,
    question: Option<u64>,
    refresh: Option<(u64, String)>,
    held: String,
    held_since: Timestamp,
    refreshes: u64,
    last: Effect,
    violation: Option<String>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            grant: Grant::new(None, ScopeSet::default(), RepeatScope::Yes),
            now: Timestamp::from_unix_secs(1_000_000),
            number: 0,
            fates: BTreeMap::new(),
            refused: Default::default(),
            question: None,
            refresh: None,
            held: String::new(),
            held_since: Timestamp::default(),
            refreshes: 0,
            last: Effect::Wait,
            violation: None,
        };
        world.happen(Event::LogIn);
        world
    }

    fn happen(&mut self, event: Event) {
        let now = self.now;
        let effect = match event {
            Event::Pass(secs) => {
                self.now = now + Duration::from_secs(secs);
                None
            }
            Event::Want => Some(self.grant.want_token(now)),
            Event::LogIn => {
                self.refresh = None;
                let tokens = self.new_tokens();
                Some(self.grant.logged_in(tokens, ScopeSet::default()))
            }
            Event::Refuse => self.refuse(),
            Event::Store(stored) => self.store(stored),
            Event::Answer(answer) => {
                let refresh = self.refresh.take();
                refresh.and_then(|(id, token)| self.answer(id, &token, answer))
            }
            Event::LateAnswer(answer) => {
                let outcome = self.outcome(answer);
                assert_eq!(self.grant.handle_refresh(now, 0, outcome), None);
                None
            }
        };
        if let Some(effect) = effect {
            self.take(effect);
        }
    }

    fn refuse(&mut self) -> Option<Effect> {
        let token = self.grant.tokens()?.access.clone();
        self.refused.insert(token.expose().to_owned());
        self.grant.token_refused(self.now, &token, AccessRefusal::Token)
    }

    fn store(&mut self, stored: Stored) -> Option<Effect> {
        let id = self.question.take()?;
        let stored = match stored {
            Stored::Failure => return self.grant.handle_store_failure(self.now, id),
            Stored::Nothing => None,
            Stored::Ours => self.grant.tokens().cloned(),
            Stored::Newer => Some(self.new_tokens()),
            Stored::NewerWithOldRefreshToken => {
                let mut tokens = self.new_tokens();
                tokens.refresh = self.grant.tokens().and_then(|tokens| tokens.refresh.clone());
                Some(tokens)
            }
        };
        self.grant.handle_store(self.now, id, stored)
    }

    fn answer(&mut self, id: u64, token: &str, answer: Answer) -> Option<Effect> {
        let fate = match answer {
            Answer::GrantDead | Answer::Rotated => Fate::Dead,
            _ => Fate::Alive,
        };
        self.fates.insert(token.to_owned(), fate);
        let outcome = self.outcome(answer);
        self.grant.handle_refresh(self.now, id, outcome)
    }

    fn outcome(&mut self, answer: Answer) -> RefreshOutcome {
        let words = String::new();
        let error = match answer {
            Answer::Lost => return RefreshOutcome::Lost,
            Answer::Rotated => return RefreshOutcome::Answered(Ok(self.new_tokens())),
            Answer::Kept => {
                let mut tokens = self.new_tokens();
                tokens.refresh = None;
                return RefreshOutcome::Answered(Ok(tokens));
            }
            Answer::ClientDead => TokenError::ClientDead { words },
            Answer::GrantDead => TokenError::GrantDead { words },
            Answer::InvalidScope => TokenError::InvalidScope { words },
            Answer::Nonce => TokenError::UseDpopNonce("n".into()),
            Answer::Transient => TokenError::Transient { retry_after: None, words },
            Answer::InvalidRequest => TokenError::Refused {
                status: StatusCode::BAD_REQUEST,
                code: Some("invalid_request".into()),
                words,
            },
        };
        RefreshOutcome::Answered(Err(error))
    }

    fn take(&mut self, effect: Effect) {
        match &effect {
            Effect::AskStore { id, .. } => self.question = Some(*id),
            Effect::RefreshWith { id, refresh_token, .. } => {
                let token = refresh_token.expose().to_owned();
                let fate = self.fates.insert(token.clone(), Fate::Out).unwrap_or(Fate::Alive);
                if fate != Fate::Alive || self.refresh.is_some() {
                    self.violation = Some(format!("{token} was {fate:?}"));
                }
                self.refresh = Some((*id, token));
                self.refreshes += 1;
            }
            _ => {}
        }
        self.last = effect;
        // Adopted tokens may come with a known refresh token: the one that is sent counts.
        let held = self.grant.tokens().and_then(|tokens| tokens.refresh.clone());
        let held = held.map(|token| token.expose().to_owned()).unwrap_or_default();
        let access = self.grant.tokens().map(|tokens| tokens.access.expose().to_owned());
        let held = format!("{held} {}", access.unwrap_or_default());
        if held != self.held {
            self.held = held;
            self.held_since = self.now;
            self.refreshes = u64::from(self.refresh.is_some());
        }
    }

    fn new_tokens(&mut self) -> Tokens {
        self.number += 1;
        let mut tokens = Tokens::new(Secret::new(format!("a{}", self.number)), self.now);
        tokens.refresh = Some(Secret::new(format!("r{}", self.number)));
        tokens.expires_at = Some(self.now + Duration::from_secs(self.number % 4 * 1000));
        tokens.scope = Some("s".into());
        tokens
    }
}

/// The most early refreshes: two without a wait, and eight until the waits have their full length.
const MOST_AT_FIRST: u64 = 11;
const LONGEST_WAIT: u64 = 300;
