//! The parts of a certificate that people are told of: dates, names, issuer.
//!
//! The bytes come from an untrusted server. What cannot be read is `None`. Nothing here decides that a
//! certificate is trusted, except for one that the user has named, byte for byte, and then only its dates.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The fields of an X.509 certificate that this client reads (RFC 5280, 4.1).
#[derive(Debug)]
pub(super) struct CertificateFacts {
    /// The issuer, in a word or two.
    pub(super) issuer: Option<String>,
    pub(super) is_self_signed: bool,
    /// Whether it may sign other certificates.
    pub(super) is_authority: bool,
    /// Whether it may be used by a server.
    pub(super) is_for_servers: bool,
    /// Whether it is of version 1, which has neither names nor constraints.
    pub(super) is_version_1: bool,
    /// The hosts that it is for.
    pub(super) names: Vec<String>,
    pub(super) not_before: Date,
    pub(super) not_after: Date,
}

impl CertificateFacts {
    pub(super) fn read(certificate: &[u8]) -> Option<Self> {
        let mut whole = Der(Der(certificate).expect(SEQUENCE)?);
        let mut body = Der(whole.expect(SEQUENCE)?);
        let version = body.optional(VERSION);
        let (_serial, _algorithm) = (body.expect(INTEGER)?, body.expect(SEQUENCE)?);
        let issuer = body.expect(SEQUENCE)?;
        let mut validity = Der(body.expect(SEQUENCE)?);
        let (not_before, not_after) =
            (Date::read(validity.next()?)?, Date::read(validity.next()?)?);
        let subject = body.expect(SEQUENCE)?;
        let _key = body.expect(SEQUENCE)?;
        let mut facts = Self {
            issuer: name_in(issuer),
            is_self_signed: issuer == subject,
            is_authority: false,
            is_for_servers: true,
            is_version_1: version.is_none(),
            names: Vec::new(),
            not_before,
            not_after,
        };
        for (tag, content) in body {
            if tag == EXTENSIONS {
                facts.take_extensions(Der(Der(content).expect(SEQUENCE)?));
            }
        }
        Some(facts)
    }

    fn take_extensions(&mut self, mut extensions: Der<'_>) {
        while let Some(extension) = extensions.expect(SEQUENCE) {
            let mut extension = Der(extension);
            let id = extension.expect(OBJECT_ID);
            let _is_critical = extension.optional(BOOLEAN);
            let (Some(id), Some(value)) = (id, extension.expect(OCTETS)) else { return };
            let inside = || Der(value).expect(SEQUENCE).map(Der);
            match id {
                BASIC_CONSTRAINTS => {
                    let flag = inside().and_then(|mut it| it.optional(BOOLEAN));
                    self.is_authority = flag.is_some_and(|it| it != [0]);
                }
                EXTENDED_KEY_USAGE => {
                    let uses = inside().into_iter().flatten();
                    self.is_for_servers =
                        uses.into_iter().any(|(_, id)| id == SERVERS || id == ANY_USE);
                }
                SUBJECT_ALT_NAME => {
                    self.names = inside().into_iter().flatten().filter_map(host).collect();
                }
                _ => {}
            }
        }
    }
}

/// Returns the common name in a distinguished name, or else the organisation.
fn name_in(name: &[u8]) -> Option<String> {
    let attributes = Der(name).flat_map(|(_, set)| Der(set)).filter_map(|(_, pair)| {
        let mut pair = Der(pair);
        Some((pair.expect(OBJECT_ID)?, pair.next()?.1))
    });
    let attributes: Vec<_> = attributes.collect();
    let of = |wanted: &[u8]| attributes.iter().find(|(id, _)| *id == wanted).map(|(_, it)| *it);
    of(COMMON_NAME).or_else(|| of(ORGANISATION)).map(text)
}

/// Returns a name that a URL can have.
fn host((tag, content): (u8, &[u8])) -> Option<String> {
    match tag {
        DNS_NAME => Some(text(content)),
        IP_ADDRESS => match content.len() {
            4 => <[u8; 4]>::try_from(content).ok().map(|it| Ipv4Addr::from(it).to_string()),
            _ => <[u8; 16]>::try_from(content).ok().map(|it| Ipv6Addr::from(it).to_string()),
        },
        _ => None,
    }
}

/// Returns untrusted text on one line of limited length.
fn text(bytes: &[u8]) -> String {
    let words = String::from_utf8_lossy(bytes);
    let words = words.chars().map(|it| if it.is_control() || it == '`' { '?' } else { it });
    words.take(LONGEST_NAME).collect()
}

/// A moment in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Date {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
}

impl Date {
    fn read((tag, content): (u8, &[u8])) -> Option<Self> {
        let digits = std::str::from_utf8(content).ok()?.strip_suffix('Z')?;
        let (year, rest) = match tag {
            // Years of two digits are 1950 to 2049 (RFC 5280, 4.1.2.5.1).
            UTC_TIME => {
                let (year, rest) = digits.split_at_checked(2)?;
                let year: i64 = number(year)?;
                (if year < 50 { 2000 + year } else { 1900 + year }, rest)
            }
            GENERALIZED_TIME => {
                let (year, rest) = digits.split_at_checked(4)?;
                (number(year)?, rest)
            }
            _ => return None,
        };
        let part = |at: usize| rest.get(at..at + 2).and_then(number);
        let (month, day, hour) = (part(0)?, part(2)?, part(4)?);
        let (minute, second) = (part(6)?, part(8)?);
        let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
        let is_time = hour < 24 && minute < 60 && second < 61;
        let is_whole = rest.len() == 10 && is_date && is_time;
        is_whole.then_some(Self { year, month, day, hour, minute, second })
    }

    /// Returns the seconds since 1970.
    pub(super) const fn unix_seconds(self) -> i64 {
        // Years begin in March here, so that the leap day is the last one.
        let year = if self.month < 3 { self.year - 1 } else { self.year };
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = (153 * ((self.month + 9) % 12) + 2) / 5 + self.day - 1;
        let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468;
        ((days * 24 + self.hour) * 60 + self.minute) * 60 + self.second
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, .. } = self;
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
    }
}

fn number(digits: &str) -> Option<i64> {
    let is_number = digits.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// The elements of DER, one after the other, with their tags.
#[derive(Clone, Copy)]
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// Returns the content of the next element, which must have this tag.
    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, content)| content)
    }

    /// Returns the content of the next element, if it has this tag; otherwise the element is not taken.
    fn optional(&mut self, tag: u8) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let content = ahead.expect(tag)?;
        *self = ahead;
        Some(content)
    }
}

impl<'a> Iterator for Der<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            // A length of more than four bytes is no certificate, and an indefinite one is no DER.
            0x81..=0x84 => {
                let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (length.iter().fold(0, |sum, byte| (sum << 8) | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }
}

const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const OBJECT_ID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;

const COMMON_NAME: &[u8] = &[0x55, 4, 3];
const ORGANISATION: &[u8] = &[0x55, 4, 10];
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 17];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];
const ANY_USE: &[u8] = &[0x55, 0x1d, 37, 0];
/// The object id of id-kp-serverAuth.
const SERVERS: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];

/// The longest name: no host name is longer (RFC 1035, 2.3.4).
const LONGEST_NAME: usize = 253;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ridethrough_lab::{Authority, Certificate};

    use super::*;

    #[test]
    fn dates_and_names_are_those_of_the_certificate() {
        let authority = Authority::new();

        let expired = authority.certificate_der(Certificate::Expired);
        let expired = CertificateFacts::read(&expired).unwrap();
        let later =
            CertificateFacts::read(&authority.certificate_der(Certificate::NotYetValid)).unwrap();

        assert_eq!(expired.not_after.to_string(), "2001-01-01 00:00 UTC");
        assert_eq!(expired.not_after.unix_seconds(), 978_307_200);
        assert_eq!(expired.names, ["localhost", "127.0.0.1", "server.test"]);
        assert!(expired.issuer.unwrap().starts_with("ridethrough lab "));
        assert_eq!(later.not_before.unix_seconds(), 32_472_144_000);
        assert!(!expired.is_authority && !expired.is_self_signed && !expired.is_version_1);
    }

    #[test]
    fn what_a_certificate_is_for_is_read() {
        let authority = Authority::new();
        let read = |kind| CertificateFacts::read(&authority.certificate_der(kind)).unwrap();

        let (alone, clients) = (read(Certificate::SelfSigned), read(Certificate::ClientsOnly));
        let (issuer, good) = (read(Certificate::Issuer), read(Certificate::Good));

        assert!(alone.is_self_signed && alone.is_authority);
        assert!(issuer.is_authority && !issuer.is_self_signed);
        assert!(!clients.is_for_servers && good.is_for_servers);
        assert_eq!(read(Certificate::Nameless).names, [""; 0]);
    }

    #[test]
    fn days_are_counted_from_1970_through_leap_years() {
        for (text, days) in [
            (&b"19700101000000Z"[..], 0),
            (b"19691231000000Z", -1),
            (b"20000229000000Z", 11_016),
            (b"20000301000000Z", 11_017),
            (b"21000301000000Z", 47_541),
        ] {
            let date = Date::read((GENERALIZED_TIME, text)).unwrap();

            assert_eq!(date.unix_seconds(), days * 86_400, "{date}");
        }
        for text in
            [&b"20000132000000Z"[..], b"2000022900000Z", b"20001329000000Z", b"+0000229000000Z"]
        {
            assert_eq!(Date::read((GENERALIZED_TIME, text)), None);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd_to_be_looked_at(
            noise in proptest::collection::vec(any::<u8>(), 0..200),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let _ = CertificateFacts::read(&noise);
            let mut damaged = Authority::new().certificate_der(Certificate::SelfSigned).to_vec();
            let at = at.index(damaged.len());
            damaged[at] = byte;
            let _ = CertificateFacts::read(&damaged);
            let _ = CertificateFacts::read(&damaged[..at]);
        }
    }
}
