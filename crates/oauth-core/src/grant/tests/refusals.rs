//! Refused tokens and refused refreshes.

use super::*;

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
