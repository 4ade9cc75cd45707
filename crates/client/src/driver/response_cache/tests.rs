//! What the cache keeps, for how long, and what clears it.

use ridethrough_core::{CallOptions, Generation, Request};

use super::*;

#[test]
fn a_result_is_good_until_its_time_is_over() {
    let mut cache = ResponseCache::new(Cache::new());
    cache.put(Moment::secs(10), "tools/list", None, MINUTE);

    assert_eq!(cache.get(Moment::secs(10), "tools/list", None), Some(0));
    assert_eq!(cache.get(Moment::millis(69_999), "tools/list", None), Some(59));
    assert_eq!(cache.get(Moment::secs(70), "tools/list", None), None);
    assert_eq!(cache.get(Moment::secs(10), "prompts/list", None), None);
}

#[test]
fn another_server_or_session_clears_the_shelf_and_what_is_on_its_way_to_it() {
    for event in [
        Event::EraFound { era: Era::Legacy },
        Event::ServerChanged,
        Event::SessionLost { generation: Generation::new(1) },
    ] {
        let mut cache = ResponseCache::new(Cache::new());
        cache.put(Moment::START, "tools/list", None, MINUTE);
        let awaited = cache.out(1, "resources/read", Some(r#"{"uri":"a"}"#));

        cache.happened(&event);
        cache.come(awaited, Some(MINUTE));

        assert!(cache.entries.is_empty(), "{event:?}");
        assert_eq!(cache.bytes, 0);
    }
}

#[test]
fn what_is_no_word_of_a_change_clears_nothing() {
    for event in [
        Event::EraFound { era: Era::Modern },
        Event::ListenerBack { gap: Duration::from_secs(1) },
        Event::ListenerLost { retry: Moment::START },
        Event::Connected { outage: Duration::from_secs(1) },
        Event::CredentialsRenewed,
    ] {
        let mut cache = ResponseCache::new(Cache::new());
        cache.put(Moment::START, "tools/list", None, MINUTE);

        cache.happened(&event);

        assert_eq!(cache.entries.len(), 1, "{event:?}");
    }
}

#[test]
fn tools_that_turned_out_to_be_others_go_and_the_answer_that_said_so_stays() {
    let mut cache = ResponseCache::new(Cache::new());
    cache.put(Moment::START, "tools/list", Some(r#"{"cursor":"2"}"#), MINUTE);
    cache.put(Moment::START, "prompts/list", None, MINUTE);
    let awaited = cache.out(1, "tools/list", None);

    cache.happened(&Event::ToolsChanged);
    cache.come(awaited, Some(MINUTE));

    assert_eq!(cache.get(Moment::START, "tools/list", Some(r#"{"cursor":"2"}"#)), None);
    assert_eq!(cache.get(Moment::START, "tools/list", None), Some(0));
    assert_eq!(cache.get(Moment::START, "prompts/list", None), Some(0));
}

#[test]
fn credentials_that_could_not_be_renewed_take_what_was_private_along() {
    let mut cache = ResponseCache::new(Cache::new());
    cache.put(Moment::START, "tools/list", None, MINUTE);
    cache.put(Moment::START, "prompts/list", None, PUBLIC);

    cache.happened(&Event::CredentialsFailed { reason: None });

    assert_eq!(cache.get(Moment::START, "tools/list", None), None);
    assert_eq!(cache.get(Moment::START, "prompts/list", None), Some(0));
}

#[test]
fn what_was_asked_with_other_credentials_is_kept_only_if_it_is_public() {
    for (lifetime, is_kept) in [(MINUTE, false), (PUBLIC, true)] {
        let mut cache = ResponseCache::new(Cache::new());
        let awaited = cache.out(1, "tools/list", None);

        cache.credentials_changed();
        cache.come(awaited, Some(lifetime));

        assert_eq!(cache.get(Moment::START, "tools/list", None).is_some(), is_kept);
    }
}

#[test]
fn the_oldest_goes_first_where_there_are_too_many() {
    let mut cache = ResponseCache::new(Cache::new().most_entries(2));
    cache.put(Moment::START, "tools/list", None, MINUTE);
    cache.put(Moment::START, "prompts/list", None, MINUTE);

    // Kept again, the first is the youngest.
    cache.put(Moment::START, "tools/list", None, MINUTE);
    cache.put(Moment::START, "resources/list", None, MINUTE);

    assert_eq!(cache.get(Moment::START, "prompts/list", None), None);
    assert_eq!(cache.get(Moment::START, "tools/list", None), Some(0));
    assert_eq!(cache.get(Moment::START, "resources/list", None), Some(0));
}

#[test]
fn the_oldest_go_first_where_they_are_too_large_and_what_is_larger_than_all_is_not_kept() {
    let mut cache = ResponseCache::new(Cache::new());
    cache.put(Moment::START, "tools/list", None, MINUTE);
    let one = cache.bytes;
    let mut cache = ResponseCache::new(Cache::new().most_bytes(2 * one + one / 2));

    for method in ["tools/list", "prompts/list", "resources/list"] {
        cache.put(Moment::START, method, None, MINUTE);
    }

    assert_eq!((cache.entries.len(), cache.bytes), (2, 2 * one));
    assert_eq!(cache.get(Moment::START, "tools/list", None), None);

    let mut tiny = ResponseCache::new(Cache::new().most_bytes(one - 1));
    tiny.put(Moment::START, "tools/list", None, MINUTE);
    assert_eq!((tiny.entries.len(), tiny.bytes), (0, 0));
}

#[test]
fn what_comes_without_a_lifetime_takes_the_place_of_what_was_kept() {
    let mut cache = ResponseCache::new(Cache::new());
    cache.put(Moment::START, "tools/list", None, MINUTE);
    let awaited = cache.out(1, "tools/list", None);

    cache.come(awaited, None);

    assert!(cache.entries.is_empty());
}

const MINUTE: Lifetime = Lifetime { time: Duration::from_secs(60), scope: Scope::Private };
const PUBLIC: Lifetime = Lifetime { time: Duration::from_secs(60), scope: Scope::Public };

impl ResponseCache {
    fn put(&mut self, now: Moment, method: &str, params: Option<&'static str>, lifetime: Lifetime) {
        let exchange = self.out(7, method, params);
        let awaited = self.ended(exchange).unwrap();
        self.take_in(now, awaited, &Json::empty_object(), Some(lifetime));
    }

    /// Returns the age in seconds of the result that is returned.
    fn get(&self, now: Moment, method: &str, params: Option<&'static str>) -> Option<u64> {
        self.fresh(now, &key(method, params)).map(|kept| kept.age.as_secs())
    }

    fn out(&mut self, number: u64, method: &str, params: Option<&'static str>) -> ExchangeId {
        let exchange = ExchangeId::new(number);
        self.expect(exchange, key(method, params), Accepts::Kept, false);
        exchange
    }

    fn come(&mut self, exchange: ExchangeId, lifetime: Option<Lifetime>) {
        let awaited = self.ended(exchange).unwrap();
        self.take_in(Moment::START, awaited, &Json::empty_object(), lifetime);
    }
}

fn key(method: &str, params: Option<&'static str>) -> Key {
    let params = params.map(|text| Json::new(text).unwrap());
    let request = Request { method: method.into(), params, options: CallOptions::default() };
    Key::of(&request).unwrap()
}
