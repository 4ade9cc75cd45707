//! An authorization server with switches for the faults of real ones.

use std::collections::BTreeMap;

use serde_json::json;

use super::http::{Answer, Request, encode};
use super::signer::Signer;
use super::world::{Iss, Rotation, State};

pub(super) fn answer(state: &mut State, site: &'static str, request: &Request) -> Answer {
    match request.path.as_str() {
        "/.well-known/oauth-authorization-server" => metadata(state, site),
        "/register" => register(state, site, request),
        "/authorize" => authorize(state, site, &request.query),
        "/token" => token(state, site, request),
        "/revoke" => revoke(state, request),
        "/device" => device(state),
        "/keys" => Answer::json(200, state.signer.as_ref().map_or(json!({}), Signer::keys)),
        _ => Answer::new(404, ""),
    }
}

fn metadata(state: &State, site: &str) -> Answer {
    let origin = state.origin(site);
    let foreign = state.foreign_token_endpoint.clone().filter(|_| site == "one");
    let mut document = json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": foreign.unwrap_or(format!("{origin}/token")),
        "device_authorization_endpoint": format!("{origin}/device"),
        "code_challenge_methods_supported": ["S256"],
        "client_id_metadata_document_supported": state.client_id_metadata,
        "authorization_response_iss_parameter_supported": state.advertises_iss,
    });
    if state.proofs.are_advertised {
        document["dpop_signing_alg_values_supported"] = json!(["ES256"]);
    }
    if state.signer.is_some() {
        document["jwks_uri"] = format!("{origin}/keys").into();
    }
    if state.registers {
        document["registration_endpoint"] = format!("{origin}/register").into();
    }
    if state.knows_revocation {
        document["revocation_endpoint"] = format!("{origin}/revoke").into();
    }
    Answer::json(200, document)
}

fn register(state: &mut State, site: &'static str, request: &Request) -> Answer {
    let mut client: serde_json::Value = serde_json::from_str(&request.body).unwrap();
    let (id, secret) = (state.name("client"), state.name("secret"));
    state.clients.insert(id.clone(), site);
    client["client_id"] = id.into();
    client["client_secret"] = secret.into();
    Answer::json(201, client)
}

fn authorize(state: &mut State, site: &str, query: &BTreeMap<String, String>) -> Answer {
    let is_registered = state.clients.get(&query["client_id"]).is_some_and(|it| *it == site);
    let is_known = is_registered || query["client_id"].starts_with("https://");
    if !is_known && query["client_id"] != "by-hand" {
        return Answer::json(400, json!({"error": "invalid_request"}));
    }
    assert_eq!(query["code_challenge_method"], "S256");
    let code = state.name("code");
    let mut location = format!("{}?state={}", query["redirect_uri"], encode(&query["state"]));
    location += &if state.denies_login {
        "&error=access_denied&error_description=no".to_owned()
    } else {
        format!("&code={code}")
    };
    location += &match state.iss {
        Iss::Missing => String::new(),
        Iss::Right => format!("&iss={}", encode(&state.origin(site))),
        Iss::Wrong => "&iss=https%3A%2F%2Fevil.example".to_owned(),
    };
    state.codes.insert(code, query.clone());
    Answer::new(302, "").with("location", &location)
}

/// Answers a token request. With proofs, every token is bound to the key of the proof.
fn token(state: &mut State, site: &'static str, request: &Request) -> Answer {
    if !state.proofs.are_wanted {
        return token_unbound(state, site, request);
    }
    let origin = state.origin(site);
    let key = match state.proofs.check(site, &origin, request, None) {
        Ok(key) => key,
        Err(refused) => return refused,
    };
    let sent = request.form().get("refresh_token").cloned();
    let is_other =
        sent.and_then(|sent| state.bound.get(&sent).cloned()).is_some_and(|it| it != key);
    if is_other {
        return Answer::json(
            400,
            json!({"error": "invalid_grant", "error_description": "other key"}),
        );
    }
    let mut answer = token_unbound(state, site, request);
    let mut granted: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    for token in ["access_token", "refresh_token"] {
        let token = granted[token].as_str().map(str::to_owned);
        state.bound.extend(token.map(|token| (token, key.clone())));
    }
    granted["token_type"] = "DPoP".into();
    answer.body = granted.to_string();
    answer
}

fn token_unbound(state: &mut State, site: &str, request: &Request) -> Answer {
    let form = request.form();
    match form["grant_type"].as_str() {
        "authorization_code" => match state.codes.remove(&form["code"]) {
            Some(query) if query["redirect_uri"] == form["redirect_uri"] => {
                let scope = query.get("scope").cloned().unwrap_or_default();
                state.resource = query.get("resource").cloned().unwrap_or_default();
                grant(state, &scope, true)
            }
            _ => Answer::json(400, json!({"error": "invalid_grant"})),
        },
        "refresh_token" => refresh(state, site, &form),
        "urn:ietf:params:oauth:grant-type:jwt-bearer" if form["assertion"] == "c4nary-bad" => {
            Answer::json(400, json!({"error": "invalid_grant"}))
        }
        "urn:ietf:params:oauth:grant-type:token-exchange" => {
            let kind = state.exchanges_for;
            let body = json!({"access_token": state.name("id-jag"), "token_type": "N_A",
                              "issued_token_type": kind, "expires_in": 300});
            Answer::json(200, body)
        }
        "client_credentials" | "urn:ietf:params:oauth:grant-type:jwt-bearer" => {
            let scope = form.get("scope").cloned().unwrap_or_default();
            grant(state, &scope, false)
        }
        "urn:ietf:params:oauth:grant-type:device_code" => match state.device_pending {
            0 => grant(state, "mcp", true),
            _ => {
                state.device_pending -= 1;
                Answer::json(400, json!({"error": "authorization_pending"}))
            }
        },
        _ => Answer::json(400, json!({"error": "unsupported_grant_type"})),
    }
}

fn refresh(state: &mut State, site: &str, form: &BTreeMap<String, String>) -> Answer {
    if let Some(mut answer) = state.refresh_answers.pop_front() {
        answer.body = answer.body.replace("{refresh_token}", &form["refresh_token"]);
        return answer;
    }
    // Beside an `Authorization` header there is no `client_id`.
    let id = form.get("client_id").map_or("by-hand", String::as_str);
    let is_own_client = state.clients.get(id).is_some_and(|it| *it == site);
    if !is_own_client {
        return Answer::json(401, json!({"error": "invalid_client"}));
    }
    let token = form["refresh_token"].clone();
    match state.refresh.get(&token).cloned() {
        Some((true, scope)) => {
            let is_strict = state.rotation == Rotation::Strict;
            if is_strict {
                state.refresh.insert(token, (false, scope.clone()));
            }
            grant(state, &scope, is_strict).after(state.refresh_delay)
        }
        Some((false, _)) => {
            // The token was used twice: the holder of its successors may be a thief.
            state.refresh.clear();
            state.access.clear();
            Answer::json(400, json!({"error": "invalid_grant", "error_description": "replayed"}))
        }
        None => Answer::json(400, json!({"error": "invalid_grant"})),
    }
}

fn grant(state: &mut State, scope: &str, with_refresh: bool) -> Answer {
    let (mut access, refresh) = (state.name("access"), state.name("refresh"));
    if let Some(signer) = &state.signer {
        access = signer.token(&state.one, &state.resource, scope);
    }
    state.access.insert(access.clone(), scope.to_owned());
    let mut answer = json!({
        "access_token": access, "token_type": "Bearer", "expires_in": state.expires_in, "scope": scope,
    });
    if state.wants_id_token {
        let id = state.name("identity");
        state.access.remove(&access);
        state.access.insert(id.clone(), scope.to_owned());
        answer["id_token"] = id.into();
    }
    if with_refresh {
        state.refresh.insert(refresh.clone(), (true, scope.to_owned()));
        answer["refresh_token"] = refresh.into();
    }
    Answer::json(200, answer)
}

fn revoke(state: &mut State, request: &Request) -> Answer {
    let token = request.form()["token"].clone();
    state.access.remove(&token);
    state.refresh.remove(&token);
    Answer::new(200, "")
}

fn device(state: &mut State) -> Answer {
    let origin = state.one.clone();
    let code = state.name("device");
    Answer::json(
        200,
        json!({"device_code": code, "user_code": "ABCD-EFGH", "interval": 1, "expires_in": 600,
               "verification_uri": format!("{origin}/activate")}),
    )
}
