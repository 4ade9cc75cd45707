//! Tokens that are bound to a key: a proof for each request, and what a server says about it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use ridethrough::Client;
use ridethrough::credentials::{ProofOfPossession, ProofVerdict, StaticToken, Token};
use ridethrough_lab::{Protocol, Times, When};

use crate::rig::{Rig, call};

on_every_carrier! {
    async fn each_request_carries_a_proof_of_its_own_for_its_method_and_url(rig: Rig) {
        let client = client(&rig, &Arc::default());

        call(&client, "echo", "a").await.unwrap();
        call(&client, "echo", "b").await.unwrap();

        let sent = proofs(&rig, &When::tool("echo"));
        assert_eq!(sent.len(), 2);
        assert_ne!(sent[0], sent[1]);
        for proof in sent {
            assert!(proof.contains(" POST ") && proof.ends_with("/mcp nonce none"), "{proof}");
            assert!(proof.contains("http"), "a proof names the whole URL: {proof}");
        }
        let tokens = rig.mcp.log().iter().map(|it| it.header("authorization").unwrap().to_owned()).collect::<Vec<_>>();
        assert!(tokens.iter().all(|token| token == "DPoP t"), "{tokens:?}");
    }

    async fn a_request_that_is_refused_for_want_of_a_nonce_is_made_once_more(rig: Rig) {
        let client = client(&rig, &Arc::default());
        wants_nonce(&rig, Times::Once);

        call(&client, "deploy", "a").await.unwrap();

        let sent = proofs(&rig, &When::tool("deploy"));
        assert_eq!(sent.len(), 2);
        assert!(sent[1].ends_with("nonce n1"), "{sent:?}");
        assert_eq!(rig.mcp.executions("deploy"), 1);
    }

    async fn a_server_that_wants_a_nonce_for_ever_gets_two_requests(rig: Rig) {
        let client = client(&rig, &Arc::default());
        wants_nonce(&rig, Times::Always);

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert!(!error.may_have_run(), "{error}");
        assert_eq!(rig.count(When::tool("deploy")), 2);
    }
}

/// A proof that names the request that it was made for.
#[derive(Default)]
struct Readable {
    made: AtomicUsize,
    nonce: Mutex<Option<String>>,
}

impl ProofOfPossession for Readable {
    fn prove(&self, method: &Method, url: &Uri) -> Option<HeaderValue> {
        let number = self.made.fetch_add(1, Ordering::SeqCst);
        let nonce = self.nonce.lock().unwrap().clone();
        let nonce = nonce.as_deref().unwrap_or("none");
        HeaderValue::try_from(format!("{number} {method} {url} nonce {nonce}")).ok()
    }

    fn judge(&self, status: StatusCode, headers: &HeaderMap) -> ProofVerdict {
        let Some(nonce) = headers.get("dpop-nonce") else { return ProofVerdict::Settled };
        *self.nonce.lock().unwrap() = Some(nonce.to_str().unwrap().to_owned());
        if status == StatusCode::UNAUTHORIZED {
            ProofVerdict::WantsNonce
        } else {
            ProofVerdict::Settled
        }
    }
}

fn client(rig: &Rig, proof: &Arc<Readable>) -> Client {
    let token = Token::dpop("t", proof.clone()).unwrap();
    rig.builder().credentials(StaticToken::from(token)).build().unwrap()
}

fn proofs(rig: &Rig, when: &When) -> Vec<String> {
    let log = rig.mcp.log();
    let sent = log.iter().filter(|entry| when.holds(entry));
    sent.map(|entry| entry.header("dpop").unwrap().to_owned()).collect()
}

fn wants_nonce(rig: &Rig, times: Times) {
    let headers = &[("www-authenticate", r#"DPoP error="use_dpop_nonce""#), ("dpop-nonce", "n1")];
    rig.mcp.rule(When::tool("deploy"), times, |ask| ask.status(401, headers, "{}"));
}
