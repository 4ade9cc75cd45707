//! An authorization server: its documents, its clients and its token endpoint.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode};
use ridethrough_lab::Turn;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::addresses::{STRANGER, origin};
use super::faults::AuthFault;
use super::form::read_form;
use super::grants::{Issued, Issuer};
use super::shape::AuthShape;
use super::truth::Truth;

/// One of the two authorization servers of a world.
#[derive(Clone)]
pub(super) struct AuthorizationSite {
    pub(super) issuer: Issuer,
    pub(super) shape: AuthShape,
    pub(super) truth: Truth,
}

impl AuthorizationSite {
    pub(super) async fn serve(self, turn: Turn) {
        self.truth.oracle().received(self.issuer.name(), &turn.request);
        let target = turn.request.target.clone();
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        match path {
            "/.well-known/oauth-authorization-server" => {
                let is_swapped = self.truth.oracle().is_swapped(self.issuer);
                turn.reply.respond(answer(200, &self.metadata(is_swapped))).await;
            }
            "/authorize" => {
                // What a preflight sees; people come another way.
                let is_known = self
                    .truth
                    .oracle()
                    .grants(self.issuer)
                    .knows_client(read_form(query).get("client_id").map_or("", String::as_str));
                let status = if is_known { 302 } else { 400 };
                turn.reply.respond(answer(status, &Value::Null)).await;
            }
            "/register" => turn.reply.respond(self.register(&turn.request.body)).await,
            "/token" => self.token(turn).await,
            _ => turn.reply.respond(answer(404, &Value::Null)).await,
        }
    }

    fn metadata(&self, is_swapped: bool) -> Value {
        let origin = origin(self.issuer);
        let tokens = if is_swapped { STRANGER } else { origin };
        json!({
            "issuer": origin,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{tokens}/token"),
            "registration_endpoint": format!("{origin}/register"),
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": self.shape.sends_issuer,
        })
    }

    fn register(&self, body: &[u8]) -> Response<Bytes> {
        let mut client: Value = serde_json::from_slice(body).unwrap_or_default();
        client["client_id"] = self.truth.oracle().grants(self.issuer).register().into();
        answer(201, &client)
    }

    async fn token(self, turn: Turn) {
        let form = read_form(&String::from_utf8_lossy(&turn.request.body));
        let refresh = form.get("refresh_token").cloned();
        if let Some(refresh) = &refresh {
            self.truth.oracle().refresh_arrived(self.issuer, refresh);
        }
        if let Some(fault) = self.truth.first(BEFORE) {
            self.truth.oracle().trouble(fault, refresh.as_deref());
            return self.undone(turn, fault).await;
        }
        let done = self.truth.oracle().tokens_for(self.issuer, &form);
        let response = match done {
            Ok(issued) => self.granted(&issued),
            Err((status, error)) => answer(status, &json!({"error": error})),
        };
        match self.truth.first(AFTER) {
            Some(AuthFault::Slow) => {
                // A token that ended on its way is none.
                let most = Duration::from_secs(6).min(self.shape.life * 2 / 3);
                tokio::time::sleep(self.truth.up_to(most)).await;
            }
            Some(fault) => {
                self.truth.oracle().trouble(fault, refresh.as_deref());
                if fault == AuthFault::LostAfter {
                    return turn.reply.close().await;
                }
                tokio::time::sleep(Duration::from_secs(12)).await;
            }
            None => tokio::time::sleep(self.truth.up_to(Duration::from_millis(200))).await,
        }
        turn.reply.respond(response).await;
    }

    async fn undone(&self, turn: Turn, fault: AuthFault) {
        let response = match fault {
            AuthFault::LostBefore => return turn.reply.close().await,
            AuthFault::Page => {
                let mut page = Response::new(Bytes::from_static(b"<html>hold on</html>"));
                page.headers_mut().insert("content-type", HeaderValue::from_static("text/html"));
                page
            }
            AuthFault::Refusal => answer(400, &json!({"error": "invalid_request"})),
            _ => {
                let mut busy = answer(503, &Value::Null);
                if self.truth.below(2) == 0 {
                    busy.headers_mut().insert("retry-after", HeaderValue::from_static("3"));
                }
                busy
            }
        };
        turn.reply.respond(response).await;
    }

    fn granted(&self, issued: &Issued) -> Response<Bytes> {
        let Issued { access, refresh, scope, expires_in } = issued;
        if self.shape.answers_in_form {
            let mut form = form_urlencoded::Serializer::new(String::new());
            form.append_pair("access_token", access).append_pair("token_type", "bearer");
            form.append_pair("expires_in", &expires_in.to_string()).append_pair("scope", scope);
            if let Some(refresh) = refresh {
                form.append_pair("refresh_token", refresh);
            }
            return Response::new(Bytes::from(form.finish()));
        }
        let mut tokens = json!({
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": expires_in,
            "scope": scope,
        });
        if let Some(refresh) = refresh {
            tokens["refresh_token"] = refresh.as_str().into();
        }
        answer(200, &tokens)
    }
}

/// A JSON answer; `null` is an empty one.
pub(super) fn answer(status: u16, body: &Value) -> Response<Bytes> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status of three digits");
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
    response
}

const BEFORE: &[AuthFault] =
    &[AuthFault::Busy, AuthFault::Page, AuthFault::Refusal, AuthFault::LostBefore];
const AFTER: &[AuthFault] = &[AuthFault::LostAfter, AuthFault::TooLate, AuthFault::Slow];
