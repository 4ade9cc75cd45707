//! Tokens that are taken, and the many that are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
    RSA_PSS_SHA256, RsaKeyPair,
};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tokio::time::advance;

use super::*;
use crate::backend::Principal;

#[tokio::test]
async fn a_token_of_the_issuer_names_its_principal_and_its_groups() {
    for issuer in Issuer::all() {
        let verifier = issuer.verifier();

        let found = verifier.verify(&issuer.token(claims())).await.unwrap();

        assert_eq!(found.principal, Principal::new("ada"), "{}", issuer.algorithm);
        assert_eq!(&*found.groups, ["a".into(), "b".into()], "{}", issuer.algorithm);
    }
}

#[tokio::test]
async fn what_does_not_say_all_that_it_must_is_refused() {
    let issuer = Issuer::new();
    let verifier = issuer.verifier();
    for (claim, value, why) in [
        ("iss", json!("https://evil.example"), "of another issuer"),
        ("iss", json!("https://i.example/"), "of another issuer"),
        ("iss", Value::Null, "of another issuer"),
        ("aud", json!("https://other.example/mcp"), "not for this server"),
        ("aud", json!([]), "not for this server"),
        ("aud", Value::Null, "not for this server"),
        ("exp", json!(NOW - 61), "out of date"),
        ("exp", Value::Null, "a time of the token is none"),
        ("exp", json!("tomorrow"), "a time of the token is none"),
        ("exp", json!(-1), "a time of the token is none"),
        ("nbf", json!(NOW + 61), "not good yet"),
        ("iat", json!(NOW + 61), "not good yet"),
        ("sub", json!(""), "does not name its subject"),
        ("sub", json!("a\u{1b}b"), "does not name its subject"),
        ("sub", Value::Null, "does not name its subject"),
    ] {
        let mut claims = claims();
        claims[claim] = value.clone();

        let refused = verifier.verify(&issuer.token(claims)).await.unwrap_err();

        let TokenRefused::Wrong { what } = refused else { panic!("{claim} {value} {refused:?}") };
        assert!(what.contains(why), "{claim} {value}: {what}");
    }
    let mut endless = claims();
    endless.as_object_mut().unwrap().remove("exp");
    assert!(verifier.verify(&issuer.token(endless)).await.is_err(), "a token has an end");
}

#[tokio::test]
async fn clocks_may_differ_by_a_minute_and_an_audience_may_be_one_of_several() {
    let issuer = Issuer::new();
    let verifier = issuer.verifier();
    for (claim, value) in [
        ("exp", json!(NOW - 59)),
        ("nbf", json!(NOW + 59)),
        ("exp", json!(1.5e9 + 1e9)),
        ("aud", json!(["https://other.example", "https://g.example/mcp"])),
    ] {
        let mut claims = claims();
        claims[claim] = value.clone();

        assert!(verifier.verify(&issuer.token(claims)).await.is_ok(), "{claim} {value}");
    }
}

/// The classical attacks: no signature, and a public key that is taken for a shared secret.
#[tokio::test]
async fn no_header_makes_a_token_that_is_not_signed_good() {
    let issuer = Issuer::new();
    let verifier = issuer.verifier();
    let body = encode(claims().to_string().as_bytes());
    for (header, signature) in [
        (json!({"alg": "none"}), ""),
        (json!({"alg": "None", "kid": "k1"}), ""),
        (json!({"alg": "HS256", "kid": "k1"}), "c2lnbmF0dXJl"),
        (json!({"alg": "ES256", "kid": "k1"}), ""),
        (json!({"alg": "ES256", "kid": "k1"}), "c2lnbmF0dXJl"),
        (json!({"alg": "ES256"}), &"A".repeat(86)),
        (json!({"alg": "RS256", "kid": "k1"}), "c2lnbmF0dXJl"),
        (json!({"alg": "ES384", "kid": "k1"}), &"A".repeat(128)),
        (json!({"kid": "k1"}), ""),
        (json!({"alg": ["ES256"]}), ""),
    ] {
        let token = format!("{}.{body}.{signature}", encode(header.to_string().as_bytes()));

        let refused = verifier.verify(&token).await.unwrap_err();

        assert!(matches!(refused, TokenRefused::Wrong { .. }), "{header} {refused:?}");
    }
    let mut critical = json!({"alg": "ES256", "kid": "k1", "crit": ["x"], "x": 1});
    assert!(verifier.verify(&issuer.signed(&critical, &claims())).await.is_err());
    critical.as_object_mut().unwrap().remove("crit");
    assert!(verifier.verify(&issuer.signed(&critical, &claims())).await.is_ok());
    // An algorithm that is known but was not allowed.
    let other = Issuer::all().into_iter().find(|it| it.algorithm == "PS256").unwrap();
    let mut rules = rules();
    rules.algorithms = vec![Algorithm::Rs256];
    let verifier = JwtVerifier::new(rules, other.published()).clock(|| at(NOW));
    assert!(verifier.verify(&other.token(claims())).await.is_err());
}

#[tokio::test]
async fn a_changed_byte_and_the_key_of_another_are_noticed() {
    let (issuer, other) = (Issuer::new(), Issuer::new());
    let verifier = issuer.verifier();
    let token = issuer.token(claims());

    assert!(verifier.verify(&other.token(claims())).await.is_err());
    let (head, signature) = token.rsplit_once('.').unwrap();
    let mut admin = claims();
    admin["sub"] = "root".into();
    let (header, _) = head.split_once('.').unwrap();
    let forged = format!("{header}.{}.{signature}", encode(admin.to_string().as_bytes()));
    assert!(verifier.verify(&forged).await.is_err());
    for text in ["", "s3cret", "a.b", "a.b.c", "..", &"x".repeat(100_000)] {
        assert_eq!(
            verifier.verify(text).await,
            Err(TokenRefused::Unknown),
            "no token of this kind"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn keys_are_fetched_when_they_are_needed_and_never_more_often_than_they_may() {
    let issuer = Issuer::new();
    let published = issuer.published();
    let asked = published.asked.clone();
    let verifier = JwtVerifier::new(rules(), published).clock(|| at(NOW));
    for _ in 0..10 {
        verifier.verify(&issuer.token(claims())).await.unwrap();
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);

    let unknown = json!({"alg": "ES256", "kid": "new"});
    for _ in 0..100 {
        assert!(verifier.verify(&issuer.signed(&unknown, &claims())).await.is_err());
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1, "it was just fetched");
    advance(PAUSE).await;
    for _ in 0..100 {
        assert!(verifier.verify(&issuer.signed(&unknown, &claims())).await.is_err());
    }
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    advance(OLD).await;
    verifier.verify(&issuer.token(claims())).await.unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 3, "they were old");
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_is_away_is_not_the_fault_of_the_token() {
    let issuer = Issuer::new();
    let mut published = issuer.published();
    published.set = Err("connection refused".to_owned());
    let verifier = JwtVerifier::new(rules(), published).clock(|| at(NOW));

    let refused = verifier.verify(&issuer.token(claims())).await.unwrap_err();

    let TokenRefused::Unverifiable { what, retry_after } = refused else { panic!("{refused:?}") };
    assert!(what.contains("connection refused") && retry_after == PAUSE, "{what}");
}

struct Issuer {
    algorithm: &'static str,
    pair: Pair,
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

/// What an issuer publishes.
struct Published {
    set: Result<String, String>,
    asked: Arc<AtomicUsize>,
}

impl FetchKeys for Published {
    fn fetch(&self) -> BoxFuture<'_, Result<Vec<u8>, String>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let set = self.set.clone();
        async move { set.map(String::into_bytes) }.boxed()
    }
}

impl Issuer {
    fn new() -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        Self { algorithm: "ES256", pair: Pair::Ecdsa(pair) }
    }

    fn all() -> Vec<Self> {
        let rsa = || Pair::Rsa(RsaKeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap());
        vec![
            Self::new(),
            Self { algorithm: "EdDSA", pair: Pair::Ed25519(Ed25519KeyPair::generate().unwrap()) },
            Self { algorithm: "RS256", pair: rsa() },
            Self { algorithm: "PS256", pair: rsa() },
        ]
    }

    fn verifier(&self) -> JwtVerifier {
        JwtVerifier::new(rules(), self.published()).clock(|| at(NOW))
    }

    fn published(&self) -> Published {
        let key = match &self.pair {
            Pair::Ecdsa(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)})
            }
            Pair::Ed25519(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key().as_ref())})
            }
            Pair::Rsa(pair) => {
                // DER of a key of 2048 bits: the heads of a sequence and of a number, a zero, the modulus, and
                // the head of the exponent.
                let key = pair.public_key().as_ref();
                json!({"kty": "RSA", "n": encode(&key[9..265]), "e": encode(&key[267..])})
            }
        };
        let mut named = key.clone();
        (named["kid"], named["use"]) = ("k1".into(), "sig".into());
        let mut for_secrets = key;
        (for_secrets["kid"], for_secrets["use"]) = ("new".into(), "enc".into());
        let set =
            json!({"keys": [for_secrets, {"kty": "oct", "k": "AAAA", "kid": "k1"}, named, 7]});
        Published { set: Ok(set.to_string()), asked: Arc::default() }
    }

    fn token(&self, claims: Value) -> String {
        self.signed(&json!({"alg": self.algorithm, "kid": "k1", "typ": "at+jwt"}), &claims)
    }

    fn signed(&self, header: &Value, claims: &Value) -> String {
        let random = SystemRandom::new();
        let text = format!(
            "{}.{}",
            encode(header.to_string().as_bytes()),
            encode(claims.to_string().as_bytes())
        );
        let signature = match &self.pair {
            Pair::Ecdsa(pair) => pair.sign(&random, text.as_bytes()).unwrap().as_ref().to_vec(),
            Pair::Ed25519(pair) => pair.sign(text.as_bytes()).as_ref().to_vec(),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                let padding: &dyn aws_lc_rs::signature::RsaEncoding =
                    if self.algorithm == "PS256" { &RSA_PSS_SHA256 } else { &RSA_PKCS1_SHA256 };
                pair.sign(padding, &random, text.as_bytes(), &mut signature).unwrap();
                signature
            }
        };
        format!("{text}.{}", encode(&signature))
    }
}

fn rules() -> JwtRules {
    use Algorithm::{EdDsa, Es256, Ps256, Rs256};
    JwtRules {
        issuer: "https://i.example".to_owned(),
        audience: vec!["https://g.example/mcp".to_owned()],
        algorithms: vec![EdDsa, Es256, Ps256, Rs256],
        groups_claim: "scope".to_owned(),
    }
}

fn claims() -> Value {
    json!({"iss": "https://i.example", "aud": "https://g.example/mcp", "sub": "ada",
        "scope": "b a b", "exp": NOW + 300, "iat": NOW})
}

fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

const NOW: u64 = 1_800_000_000;
