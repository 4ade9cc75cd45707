//! A clock that jumps, or is set back.

use super::*;

#[test]
fn a_clock_that_jumps_by_a_day_costs_one_refresh_at_most() {
    let day = 86_400;
    let mut grant = grant(tokens(1, 3600));
    let refresh = begin_refresh(&mut grant, at(day));
    let new = Tokens { received_at: at(day), ..tokens(2, day + 3600) };
    grant.handle_refresh(at(day), id(&refresh), Answered(Ok(new)));

    assert_eq!(grant.want_token(at(day + 1)), use_token(2));
    assert_eq!(grant.want_token(at(day - 30)), use_token(2));
}

/// By its times it lives for another day, and the server refuses it within the hour.
#[test]
fn a_token_from_before_the_clock_was_set_back_is_renewed_while_it_is_used() {
    let day = 86_400;
    let new = Tokens { received_at: at(day), ..tokens(1, day + 3600) };
    let mut grant = grant(new);

    let refresh = begin_refresh(&mut grant, at(100));

    assert_eq!(sent(&refresh), "r1");
    assert_eq!(grant.want_token(at(101)), use_token(1));
    let renewed = Tokens { received_at: at(101), ..tokens(2, 3701) };
    grant.handle_refresh(at(102), id(&refresh), Answered(Ok(renewed)));
    assert_eq!(grant.want_token(at(103)), use_token(2));
}

/// A call outlives one refused token, not two.
#[test]
fn a_token_of_another_process_from_before_the_clock_was_set_back_is_renewed_and_not_used() {
    let day = 86_400;
    let mut grant = grant(tokens(1, 3600));
    let store = refuse(&mut grant, 2000, "a1");
    let other = Tokens { received_at: at(day), ..tokens(2, day + 3600) };

    let refresh = grant.handle_store(at(2000), id(&store), Some(other)).unwrap();

    assert_eq!(sent(&refresh), "r2");
}

#[test]
fn a_clock_that_is_set_back_ends_a_wait() {
    let mut grant = grant(tokens(1, 0));
    let refresh = begin_refresh(&mut grant, at(90_000));
    let trouble = TokenError::Transient { retry_after: None, words: String::new() };
    grant.handle_refresh(at(90_000), id(&refresh), Answered(Err(trouble)));
    assert!(matches!(grant.want_token(at(90_001)), Effect::WaitUntil(_)));

    let effect = grant.want_token(at(3600));

    assert!(matches!(effect, Effect::AskStore { .. }), "{effect:?}");
}
