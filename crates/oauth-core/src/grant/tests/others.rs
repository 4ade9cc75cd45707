//! Other processes that use the same login.

use super::*;

#[test]
fn a_dead_grant_needs_a_person_only_after_the_store_was_read_again() {
    let mut grant = grant(tokens(1, 3600));
    let refresh = begin_refresh(&mut grant, at(4000));

    let store = grant.handle_refresh(at(4001), id(&refresh), Answered(Err(dead()))).unwrap();

    assert!(matches!(store, Effect::AskStore { purpose: StoreUse::Login, .. }));
    let login = grant.handle_store(at(4002), id(&store), Some(tokens(1, 3600))).unwrap();
    assert_eq!(login, Effect::LoginNeeded(LoginReason::GrantDead("gone".into())));
}

#[test]
fn newer_tokens_of_another_process_are_adopted_before_a_refresh_and_after_a_dead_one() {
    let newer = Tokens { received_at: at(3990), ..tokens(2, 7600) };
    let mut before = grant(tokens(1, 3600));
    let store = before.want_token(at(4000));
    assert_eq!(before.handle_store(at(4000), id(&store), Some(newer.clone())), Some(use_token(2)));

    let mut after = grant(tokens(1, 3600));
    let refresh = begin_refresh(&mut after, at(4000));
    let store = after.handle_refresh(at(4001), id(&refresh), Answered(Err(dead()))).unwrap();
    assert_eq!(after.handle_store(at(4002), id(&store), Some(newer)), Some(use_token(2)));
}

/// Our tokens could not be stored.
#[test]
fn tokens_in_the_store_that_nobody_has_changed_do_not_replace_ours() {
    let mut grant = grant(tokens(1, 3600));
    let refresh = begin_refresh(&mut grant, at(4000));
    grant.handle_refresh(at(4001), id(&refresh), Answered(Ok(tokens(2, 4600)))).unwrap();
    let store = grant.want_token(at(5000));

    let refresh = grant.handle_store(at(5000), id(&store), Some(tokens(1, 3600))).unwrap();

    assert_eq!(sent(&refresh), "r2");
}

/// A process that sends a refresh token which another one has used ends the login of both.
#[test]
fn tokens_of_another_process_are_adopted_although_the_clock_was_set_back() {
    let mut grant = grant(Tokens { received_at: at(3500), ..tokens(1, 3600) });
    let store = grant.want_token(at(4000));
    let other = Tokens { received_at: at(3400), ..tokens(2, 4600) };

    let effect = grant.handle_store(at(4000), id(&store), Some(other)).unwrap();

    assert_eq!(effect, use_token(2));
}

#[test]
fn a_dead_refresh_token_is_not_sent_again_in_new_company() {
    let mut grant = grant(tokens(1, 3600));
    let refresh = begin_refresh(&mut grant, at(4000));
    let store = grant.handle_refresh(at(4001), id(&refresh), Answered(Err(dead()))).unwrap();
    let company = Tokens { access: Secret::new("a9"), received_at: at(10), ..tokens(1, 3700) };

    let effect = grant.handle_store(at(4002), id(&store), Some(company)).unwrap();

    assert!(matches!(effect, Effect::AskStore { purpose: StoreUse::Login, .. }), "{effect:?}");
}

/// Otherwise two processes renew in turn, with each call.
#[test]
fn a_useless_answer_to_another_process_is_no_reason_to_try_again() {
    let mut grant = grant(tokens(1, 3600));
    let refresh = begin_refresh(&mut grant, at(4000));
    let store = grant.handle_refresh(at(4001), id(&refresh), useless("r2")).unwrap();
    let other = Tokens { refresh: Some(Secret::new("r3")), ..tokens(1, 3600) };

    let next = grant.handle_store(at(4002), id(&store), Some(other)).unwrap();

    let next = grant.handle_store(at(4002), id(&next), None).unwrap();
    assert_eq!(next, Effect::LoginNeeded(LoginReason::NotRenewable("no identity".into())));
}

#[test]
fn tokens_that_another_process_stored_are_adopted_unasked() {
    let scopes: ScopeSet = ["admin"].into_iter().collect();
    let mut grant = grant(tokens(1, 3600));

    assert!(!grant.adopt_stored(tokens(1, 3600), scopes.clone()), "nobody has changed them");
    assert!(grant.adopt_stored(tokens(3, 3600), scopes));

    assert_eq!(grant.want_token(at(21)), use_token(3));
}

#[test]
fn nothing_is_adopted_while_a_refresh_is_out() {
    let mut grant = grant(tokens(1, 3600));
    let refresh = begin_refresh(&mut grant, at(4000));
    let newer = Tokens { received_at: at(4001), ..tokens(2, 8000) };

    assert!(!grant.adopt_stored(newer, ScopeSet::default()));

    let new = Tokens { received_at: at(4002), ..tokens(3, 8000) };
    let done = grant.handle_refresh(at(4002), id(&refresh), Answered(Ok(new.clone())));
    assert_eq!(done, Some(Effect::StoreAndUse(new)));
}

#[test]
fn an_empty_grant_looks_for_a_login_of_another_process_each_time() {
    let mut grant = Grant::new(None, ScopeSet::default(), RepeatScope::Yes);
    let store = grant.want_token(at(0));
    let login = grant.handle_store(at(0), id(&store), None);
    assert_eq!(login, Some(Effect::LoginNeeded(LoginReason::NoGrant)));

    let store = grant.want_token(at(9));

    let found = grant.handle_store(at(9), id(&store), Some(tokens(1, 3600)));
    assert_eq!(found, Some(use_token(1)));
}
