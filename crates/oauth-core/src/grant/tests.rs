use std::time::Duration;

use http::StatusCode;

use super::*;

const START: Timestamp = Timestamp::from_unix_secs(1_000_000);

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
fn three_equal_refusals_in_ten_minutes_need_a_person_and_keep_the_refresh_token() {
    let mut grant = grant(tokens(1, 3600));
    let mut now = 4000;
    for number in 1..=3 {
        let refresh = begin_refresh(&mut grant, at(now));
        let refused = Answered(Err(refused("invalid_request")));
        let effect = grant.handle_refresh(at(now), id(&refresh), refused).unwrap();
        assert_eq!(matches!(effect, Effect::WaitUntil(_)), number < 3, "{effect:?}");
        now += 60;
    }

    assert!(matches!(grant.phase(at(now)), Phase::LoginNeeded(LoginReason::RefreshRefused(_))));
    assert!(grant.tokens().unwrap().refresh.is_some());
}

/// A record that cannot be read, or a key that cannot sign, does not mean that the grant is dead.
#[test]
fn a_refresh_that_cannot_be_made_needs_a_person_and_is_called_what_it_is() {
    let mut grant = grant(tokens(1, 3600));
    let refresh = begin_refresh(&mut grant, at(4000));
    let impossible = RefreshOutcome::Impossible("the key cannot sign".into());

    grant.handle_refresh(at(4000), id(&refresh), impossible);

    let reason = LoginReason::NotRenewable("the key cannot sign".into());
    assert_eq!(grant.phase(at(4000)), Phase::LoginNeeded(reason.clone()));
    assert!(grant.tokens().unwrap().refresh.is_some());
    assert_eq!(crate::store::StoredEnd::of(&reason), None, "nothing is written into the store");
}

/// The refresh token that was sent may be used up.
#[test]
fn of_a_useless_answer_the_refresh_token_is_kept_and_a_person_is_needed() {
    let mut grant = grant(tokens(1, 3600));
    let refresh = begin_refresh(&mut grant, at(4000));

    let store = grant.handle_refresh(at(4001), id(&refresh), useless("r2")).unwrap();

    assert_eq!(grant.tokens().unwrap().refresh, Some(Secret::new("r2")));
    assert!(matches!(store, Effect::AskStore { purpose: StoreUse::Login, .. }), "{store:?}");
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
fn refusals_that_differ_or_lie_far_apart_keep_the_grant() {
    for (codes, gap) in [(["a", "b", "c"], 60), (["a", "a", "a"], 400)] {
        let mut grant = grant(tokens(1, 3600));
        for (number, code) in codes.iter().enumerate() {
            let now = at(4000 + gap * number as u64);
            let refresh = begin_refresh(&mut grant, now);
            grant.handle_refresh(now, id(&refresh), Answered(Err(refused(code))));
        }

        assert_eq!(grant.phase(at(9999)), Phase::Expired);
    }
}

#[test]
fn a_token_that_is_refused_right_after_it_was_issued_stops_everything() {
    let mut grant = grant(tokens(1, 3600));
    let store = refuse(&mut grant, 1000, "a1");
    let refresh = grant.handle_store(at(1000), id(&store), None).unwrap();
    let new = Tokens { received_at: at(1001), ..tokens(2, 3600) };
    grant.handle_refresh(at(1001), id(&refresh), Answered(Ok(new)));

    let store = refuse(&mut grant, 1002, "a2");

    assert!(matches!(store, Effect::AskStore { purpose: StoreUse::Login, .. }));
    let login = grant.handle_store(at(1003), id(&store), None).unwrap();
    assert_eq!(login, Effect::LoginNeeded(LoginReason::FreshTokenRefused));
}

/// A server whose faults look like refusals must not cost a person a login.
#[test]
fn a_token_that_is_accepted_again_is_renewed_at_its_end() {
    let mut grant = grant(tokens(1, 3600));
    let store = refuse(&mut grant, 1, "a1");
    grant.handle_store(at(1), id(&store), None);

    grant.token_accepted();

    assert_eq!(grant.want_token(at(2)), use_token(1));
    assert_eq!(sent(&begin_refresh(&mut grant, at(3700))), "r1");
}

#[test]
fn a_dead_refresh_token_stays_dead_though_its_access_token_is_accepted() {
    let mut grant = grant(tokens(1, 3600));
    let refresh = begin_refresh(&mut grant, at(3550));
    grant.handle_refresh(at(3550), id(&refresh), Answered(Err(dead())));

    grant.token_accepted();

    let phase = grant.phase(at(3700));
    assert_eq!(phase, Phase::LoginNeeded(LoginReason::GrantDead("gone".into())));
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

/// The server may be at fault and recover: its keys are being replaced, or its clock is off.
#[test]
fn a_server_that_refuses_new_tokens_is_tried_again_less_and_less_often() {
    let mut grant = grant(tokens(1, 360_000));
    let (mut now, mut refreshes) = (100, Vec::new());
    for number in 2..7 {
        while !matches!(
            refuse_and_ask(&mut grant, now, number - 1),
            Some(Effect::RefreshWith { .. })
        ) {
            now += 60;
        }
        refreshes.push(now);
        let Work::Refreshing { id, .. } = grant.work else { panic!("{:?}", grant.work) };
        let new = Tokens { received_at: at(now), ..tokens(number, now + 360_000) };
        grant.handle_refresh(at(now), id, Answered(Ok(new)));
        now += 1;
    }

    let pauses: Vec<u64> = refreshes.windows(2).map(|it| (it[1] - it[0]) / 60).collect();
    assert_eq!(pauses, [5, 10, 20, 40]);
}

/// The pause is for tokens that never work, and not for the next one that ends early.
#[test]
fn a_token_that_worked_for_a_while_ends_the_memory_of_pauses() {
    let mut grant = grant(tokens(1, 360_000));
    grant.held.as_mut().unwrap().tokens.received_at = at(99);
    refuse(&mut grant, 100, "a1");
    assert!(matches!(grant.phase(at(101)), Phase::LoginNeeded(LoginReason::FreshTokenRefused)));
    assert_eq!(grant.phase(at(401)), Phase::Expired);
    // The token works for more than an hour.
    grant.work = Work::Idle;
    renew(&mut grant, 401, 2);
    refuse(&mut grant, 5000, "a2");
    grant.work = Work::Idle;
    renew(&mut grant, 5000, 3);

    refuse(&mut grant, 5001, "a3");

    assert!(matches!(grant.phase(at(5300)), Phase::LoginNeeded(_)));
    assert_eq!(grant.phase(at(5302)), Phase::Expired, "the first pause again");
}

#[test]
fn a_server_that_refuses_each_token_after_a_while_is_not_fed_for_ever() {
    let mut grant = grant(tokens(1, 3600));
    let mut refreshes = 0;
    for number in 2..100 {
        let now = 120 * (number - 1);
        let effect = refuse(&mut grant, now, &format!("a{}", number - 1));
        let Some(refresh @ Effect::RefreshWith { .. }) =
            grant.handle_store(at(now), id(&effect), None)
        else {
            break;
        };
        refreshes += 1;
        let new = Tokens { received_at: at(now), ..tokens(number, now + 3600) };
        grant.handle_refresh(at(now), id(&refresh), Answered(Ok(new)));
    }

    assert_eq!(refreshes, 5);
}

/// Servers for tests grant tokens of seconds.
#[test]
fn a_short_token_that_is_refused_at_its_end_is_renewed() {
    let mut grant = grant(tokens(1, 5));
    for number in 2..50 {
        let now = 5 * (number - 1);
        let store = refuse(&mut grant, now, &format!("a{}", number - 1));
        let refresh = grant.handle_store(at(now), id(&store), None).unwrap();
        let new = Tokens { received_at: at(now), ..tokens(number, now + 5) };

        let effect = grant.handle_refresh(at(now), id(&refresh), Answered(Ok(new)));

        assert!(matches!(effect, Some(Effect::StoreAndUse(_))), "{effect:?}");
    }
}

#[test]
fn a_refusal_of_an_older_token_is_old_news() {
    let mut grant = grant(tokens(2, 3600));

    assert_eq!(refuse(&mut grant, 100, "a1"), use_token(2));
}

#[test]
fn another_client_error_means_the_token_only_if_it_has_ended() {
    let mut grant = grant(tokens(1, 3600));
    let token = Secret::new("a1");
    let other = AccessRefusal::OtherClientError;

    assert_eq!(grant.token_refused(at(100), &token, other), None);
    let ended = grant.token_refused(at(3600), &token, other);
    assert!(matches!(ended, Some(Effect::AskStore { .. })));
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

use RefreshOutcome::Answered;

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
