//! Cookies, kept for the session in which they were set.
//!
//! Load balancers pin a session to an instance by a cookie. It belongs to that generation: a new session with
//! the old cookie would be sent to the instance that lost the old one. A client has one origin only, so no
//! cookie can reach another.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue};
use ridethrough_core::Generation;

/// The cookies of one client's server, by generation.
#[derive(Default)]
pub(crate) struct Cookies {
    jars: Mutex<BTreeMap<Generation, Jar>>,
}

/// Names and values, in the order in which they were first set.
type Jar = Vec<(String, String)>;

impl Cookies {
    /// Keeps the cookies that an answer sets.
    pub(crate) fn keep(&self, generation: Generation, headers: &HeaderMap) {
        if !headers.contains_key(SET_COOKIE) {
            return;
        }
        let mut jars = self.jars.lock().unwrap_or_else(PoisonError::into_inner);
        let jar = jars.entry(generation).or_default();
        for set in headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok()) {
            keep_one(jar, set);
        }
        // Late answers of an older session may still arrive, but not those of much older ones.
        while jars.len() > GENERATIONS {
            jars.pop_first();
        }
    }

    /// Returns the `Cookie` header for a request of that generation.
    pub(crate) fn header(&self, generation: Generation) -> Option<HeaderValue> {
        let jars = self.jars.lock().unwrap_or_else(PoisonError::into_inner);
        let jar = jars.get(&generation).filter(|jar| !jar.is_empty())?;
        let pairs: Vec<String> =
            jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut header = HeaderValue::try_from(pairs.join("; ")).ok()?;
        header.set_sensitive(true);
        Some(header)
    }
}

fn keep_one(jar: &mut Jar, set: &str) {
    let mut parts = set.split(';');
    let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { return };
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || name.len() + value.len() > LARGEST {
        return;
    }
    let is_taken_back = parts.any(|attribute| {
        let (key, value) = attribute.split_once('=').unwrap_or((attribute, ""));
        let (key, value) = (key.trim(), value.trim());
        let is_over = httpdate::parse_http_date(value).is_ok_and(|date| date <= SystemTime::now());
        (key.eq_ignore_ascii_case("max-age") && value.parse::<i64>().is_ok_and(|age| age <= 0))
            || (key.eq_ignore_ascii_case("expires") && is_over)
    });
    let known = jar.iter().position(|(each, _)| each == name);
    match (known, is_taken_back) {
        (Some(place), true) => drop(jar.remove(place)),
        (Some(place), false) => value.clone_into(&mut jar[place].1),
        (None, false) if jar.len() < MOST => jar.push((name.to_owned(), value.to_owned())),
        (None, _) => {}
    }
}

/// How many generations keep their cookies. No request of an older one is left.
const GENERATIONS: usize = 4;
/// The most cookies: what RFC 6265 asks of a client at least, and all that a load balancer needs.
const MOST: usize = 50;
const LARGEST: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_comes_back_in_its_own_generation_only() {
        let cookies = Cookies::default();

        set(&cookies, 1, &["route=a; Path=/; HttpOnly", "x=1"]);

        assert_eq!(sent(&cookies, 1).as_deref(), Some("route=a; x=1"));
        assert_eq!(sent(&cookies, 2), None);
    }

    #[test]
    fn a_cookie_is_replaced_and_taken_back() {
        let cookies = Cookies::default();
        set(&cookies, 1, &["route=a", "x=1", "y=2"]);

        let past = "y=; Expires=Thu, 01 Jan 1970 00:00:00 GMT";
        set(&cookies, 1, &["route=b", "x=; Max-Age=0", past]);

        assert_eq!(sent(&cookies, 1).as_deref(), Some("route=b"));
    }

    #[test]
    fn a_server_cannot_fill_our_memory_with_cookies() {
        let cookies = Cookies::default();

        for number in 0..1000 {
            set(&cookies, number, &[&format!("n{number}=1"), &format!("big={}", "x".repeat(5000))]);
            set(&cookies, 999, &[&format!("n{number}=1")]);
        }

        assert_eq!(sent(&cookies, 999).unwrap().split("; ").count(), MOST);
        assert!(!sent(&cookies, 999).unwrap().contains("big"));
        assert!(cookies.jars.lock().unwrap().len() <= GENERATIONS);
    }

    fn set(cookies: &Cookies, generation: u64, values: &[&str]) {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(SET_COOKIE, value.parse().unwrap());
        }
        cookies.keep(Generation::new(generation), &headers);
    }

    fn sent(cookies: &Cookies, generation: u64) -> Option<String> {
        cookies.header(Generation::new(generation)).map(|it| it.to_str().unwrap().to_owned())
    }
}
