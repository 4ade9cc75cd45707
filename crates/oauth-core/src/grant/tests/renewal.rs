//! The ordinary life of a grant: tokens are used, renewed and replaced.

use super::*;

#[test]
fn a_fresh_token_is_used_and_nothing_else_is_done() {
    let mut grant = grant(tokens(1, 3600));

    assert_eq!(grant.want_token(at(0)), use_token(1));
    assert_eq!(grant.want_token(at(3539)), use_token(1));
    assert_eq!(grant.phase(at(3539)), Phase::Fresh);
}

#[test]
fn a_due_token_is_renewed_once_while_others_use_the_old_one() {
    let mut grant = grant(tokens(1, 3600));

    let store = grant.want_token(at(3540));
    let refresh = grant.handle_store(at(3540), id(&store), None).unwrap();

    assert!(matches!(store, Effect::AskStore { purpose: StoreUse::Refresh, .. }));
    assert_eq!(sent(&refresh), "r1");
    assert_eq!(grant.want_token(at(3541)), use_token(1));
    let new = Tokens { received_at: at(3542), ..tokens(2, 7200) };
    let done = grant.handle_refresh(at(3542), id(&refresh), Answered(Ok(new.clone()))).unwrap();
    assert_eq!(done, Effect::StoreAndUse(new));
}

#[test]
fn an_ended_token_makes_everybody_wait_for_one_refresh() {
    let mut grant = grant(tokens(1, 3600));
    let refresh = begin_refresh(&mut grant, at(4000));

    assert_eq!(grant.want_token(at(4001)), Effect::Wait);
    assert_eq!(sent(&refresh), "r1");
}

#[test]
fn a_refresh_token_that_the_answer_leaves_out_is_kept() {
    let mut grant = grant(tokens(1, 3600));
    let refresh = begin_refresh(&mut grant, at(4000));
    let bare = Tokens { refresh: None, received_at: at(4001), ..tokens(2, 8000) };

    grant.handle_refresh(at(4001), id(&refresh), Answered(Ok(bare)));

    assert_eq!(grant.tokens().unwrap().refresh, Some(Secret::new("r1")));
}

#[test]
fn a_live_access_token_is_used_whatever_a_refresh_says() {
    for error in [
        TokenError::GrantDead { words: String::new() },
        TokenError::ClientDead { words: String::new() },
        TokenError::Transient { retry_after: None, words: String::new() },
        refused("invalid_request"),
    ] {
        let mut grant = grant(tokens(1, 3600));
        let refresh = begin_refresh(&mut grant, at(3545));

        let effect = grant.handle_refresh(at(3546), id(&refresh), Answered(Err(error))).unwrap();

        assert_eq!(effect, use_token(1));
    }
}

#[test]
fn a_refresh_whose_answer_was_lost_is_repeated_at_once_and_then_later() {
    let mut grant = grant(tokens(1, 3600));
    let first = begin_refresh(&mut grant, at(4000));

    let second = grant.handle_refresh(at(4001), id(&first), RefreshOutcome::Lost).unwrap();
    assert_eq!(sent(&second), "r1");
    let later = grant.handle_refresh(at(4002), id(&second), RefreshOutcome::Lost).unwrap();

    assert_eq!(later, Effect::WaitUntil(at(4004)));
    assert_eq!(grant.want_token(at(4003)), Effect::WaitUntil(at(4004)));
    assert!(matches!(grant.want_token(at(4004)), Effect::AskStore { .. }));
}

#[test]
fn a_server_in_trouble_is_left_alone_as_long_as_it_asks_for() {
    let mut grant = grant(tokens(1, 3600));
    let refresh = begin_refresh(&mut grant, at(4000));
    let retry_after = Some(Duration::from_secs(100));
    let trouble = TokenError::Transient { retry_after, words: String::new() };

    let effect = grant.handle_refresh(at(4000), id(&refresh), Answered(Err(trouble))).unwrap();

    assert_eq!(effect, Effect::WaitUntil(at(4100)));
}

#[test]
fn waits_are_short_for_half_a_minute_and_then_double_up_to_five_minutes() {
    let mut grant = grant(tokens(1, 3600));
    let mut now = at(4000);
    let mut waits = Vec::new();
    for _ in 0..14 {
        let refresh = begin_refresh(&mut grant, now);
        let trouble = TokenError::Transient { retry_after: None, words: String::new() };
        let effect = grant.handle_refresh(now, id(&refresh), Answered(Err(trouble)));
        let Some(Effect::WaitUntil(until)) = effect else { panic!("{effect:?}") };
        waits.push(until.since(now).as_secs());
        now = until;
    }

    assert_eq!(waits, [2, 4, 5, 5, 5, 5, 10, 20, 40, 80, 160, 300, 300, 300]);
}

#[test]
fn without_a_refresh_token_the_end_needs_a_person() {
    let mut grant = grant(Tokens { refresh: None, ..tokens(1, 3600) });

    assert_eq!(grant.want_token(at(3599)), use_token(1));
    let store = grant.want_token(at(3600));
    let login = grant.handle_store(at(3600), id(&store), None);
    assert_eq!(login, Some(Effect::LoginNeeded(LoginReason::Expired)));
}

#[test]
fn a_token_of_unknown_life_is_used_until_it_is_refused() {
    let mut grant = grant(Tokens { expires_at: None, ..tokens(1, 0) });

    assert_eq!(grant.want_token(at(999_999)), use_token(1));
    assert!(matches!(refuse(&mut grant, 999_999, "a1"), Effect::AskStore { .. }));
}

#[test]
fn a_token_of_no_life_is_not_renewed_with_every_request() {
    let mut grant = grant(tokens(1, 0));

    assert_eq!(grant.want_token(at(0)), use_token(1));
    assert_eq!(grant.want_token(at(29)), use_token(1));
    assert!(matches!(grant.want_token(at(30)), Effect::AskStore { .. }));
}

#[test]
fn the_granted_scope_is_repeated_until_the_server_refuses_it() {
    let mut grant = grant(Tokens { scope: Some("a".into()), ..tokens(1, 3600) });
    let with = begin_refresh(&mut grant, at(4000));
    assert!(matches!(&with, Effect::RefreshWith { scope: Some(it), .. } if it == "a"));

    let error = TokenError::InvalidScope { words: String::new() };
    let without = grant.handle_refresh(at(4000), id(&with), Answered(Err(error))).unwrap();

    assert!(matches!(without, Effect::RefreshWith { scope: None, .. }), "{without:?}");
}

#[test]
fn a_lock_that_cannot_be_had_sends_nothing() {
    let mut grant = grant(tokens(1, 3600));
    let store = grant.want_token(at(4000));

    let effect = grant.handle_store_failure(at(4000), id(&store)).unwrap();

    assert_eq!(effect, Effect::WaitUntil(at(4002)));
}

#[test]
fn late_and_repeated_news_changes_nothing() {
    let mut grant = grant(tokens(1, 3600));
    let refresh = begin_refresh(&mut grant, at(4000));
    let new = Tokens { received_at: at(4000), ..tokens(2, 7600) };
    grant.handle_refresh(at(4000), id(&refresh), Answered(Ok(new)));

    assert_eq!(grant.handle_refresh(at(4001), id(&refresh), Answered(Err(dead()))), None);
    assert_eq!(grant.handle_store(at(4001), 1, Some(tokens(9, 9999))), None);
    assert_eq!(grant.handle_store_failure(at(4001), 1), None);
    assert_eq!(grant.want_token(at(4001)), use_token(2));
}

#[test]
fn a_login_replaces_a_refresh_that_is_out() {
    let mut grant = grant(tokens(1, 3600));
    let refresh = begin_refresh(&mut grant, at(4000));

    grant.logged_in(Tokens { received_at: at(4001), ..tokens(5, 9000) }, ScopeSet::default());

    assert_eq!(grant.handle_refresh(at(4002), id(&refresh), Answered(Err(dead()))), None);
    assert_eq!(grant.want_token(at(4002)), use_token(5));
}

#[test]
fn more_scope_is_asked_for_with_what_was_requested_and_the_token_stays() {
    let requested = ScopeSet::from_text("a");
    let mut grant = Grant::new(Some(tokens(1, 3600)), requested, RepeatScope::Yes);
    let demanded = ScopeSet::from_text("b");

    let effect = grant.insufficient_scope("r", "tools/call x", &demanded);

    let more = LoginReason::MoreScope(ScopeSet::from_text("a b"));
    assert_eq!(effect, Effect::LoginNeeded(more));
    assert_eq!(grant.want_token(at(1)), use_token(1));
    grant.insufficient_scope("r", "tools/call x", &ScopeSet::from_text("c"));
    let third = grant.insufficient_scope("r", "tools/call x", &ScopeSet::from_text("d"));
    assert_eq!(third, Effect::GiveUp);
}

#[test]
fn neither_a_grant_nor_an_effect_prints_a_token() {
    let mut grant = grant(Tokens { access: Secret::new("s3cret"), ..tokens(1, 3600) });
    let effects = [grant.want_token(at(0)), begin_refresh(&mut grant, at(4000))];

    let printed = format!("{grant:?} {effects:?} {:?}", Effect::StoreAndUse(tokens(1, 5)));

    assert!(!printed.contains("s3cret") && !printed.contains("r1"), "{printed}");
}
