//! The pages at which people log in for principals: `/login/TICKET` and `/oauth/callback`.
//!
//! Nothing but the ticket says who asks, and nothing but a cookie of ours says which browser it is. Neither is
//! ever in a page, a log or an error.

use std::borrow::Cow;
use std::sync::Arc;

use http::header::{CONTENT_TYPE, COOKIE, HOST, ORIGIN};
use http::{HeaderMap, Method};
use percent_encoding::percent_decode_str;
use ridethrough_server::{Page, PageRequest, Principal, TokenOwners};
use ridethrough_wire::message::ListKind;
use tokio::time::Instant;

use super::{GatewayState, lock};
use crate::logins::{
    AskedFor, Begun, CallbackEnd, ConsentPage, LoginSubject, NoConsent, PageNotice, PrincipalLogin,
    ShownPage, TicketId, random_text, redirect,
};
use crate::news::GatewayNews;
use crate::upstreams::Upstream;

impl GatewayState {
    /// Sets where people's browsers find the gateway: scheme, host and port.
    pub(crate) fn set_public_url(&self, url: &str) {
        // It is set once, before anybody is served.
        let _ = self.public_url.set(url.trim_end_matches('/').to_owned());
    }

    /// Whether a page of ours is at this path.
    pub(crate) fn has_page(&self, path: &str) -> bool {
        self.public_url.get().is_some() && (path == CALLBACK || path.starts_with(LOGIN))
    }

    /// Returns the address at which a person logs in for this subject; `None` if browsers cannot come here, or
    /// the principal has too many such addresses.
    pub(crate) fn login_url(&self, subject: &LoginSubject) -> Option<String> {
        let base = self.public_url.get()?;
        let ticket = lock(&self.tickets).offer(subject, random_text(), Instant::now())?;
        Some(format!("{base}{LOGIN}{ticket}"))
    }

    /// Answers a browser.
    pub(crate) async fn page(
        self: &Arc<Self>,
        request: PageRequest,
        tokens: &dyn TokenOwners,
    ) -> Page {
        let path = request.uri.path();
        match (path.strip_prefix(LOGIN), &request.method) {
            (Some(ticket), &Method::GET) => self.show(ticket).await,
            (Some(ticket), &Method::POST) => self.decide(ticket, &request, tokens).await,
            (None, &Method::GET) if path == CALLBACK => self.called_back(&request).await,
            _ => PageNotice::NoTicket.page(),
        }
    }

    /// Shows the page on which a person decides. Each time it is another page, and only the newest counts.
    async fn show(&self, ticket: &str) -> Page {
        let subject = lock(&self.tickets).subject(ticket, Instant::now());
        let found = subject.ok().and_then(|subject| Some((self.login_of(&subject)?, subject)));
        let Some(((_, login), subject)) = found else { return PageNotice::NoTicket.page() };
        let asked = match login.asked_for().await {
            Ok(asked) => asked,
            Err(why) => return failed(&subject, why),
        };
        let (form, browser) = (random_text(), random_text());
        let cookie = self.cookie(&TicketId::of(ticket), &browser);
        let page = ShownPage { form: form.clone(), browser, asked: asked.clone() };
        if lock(&self.tickets).show(ticket, page, Instant::now()).is_err() {
            return PageNotice::NoTicket.page();
        }
        let needs_token = self.login_needs_token;
        let (subject, asked) = (&subject, &asked);
        ConsentPage { subject, asked, form: &form, cookie: &cookie, needs_token }.page()
    }

    /// Takes what a person has decided.
    async fn decide(
        self: &Arc<Self>,
        ticket: &str,
        request: &PageRequest,
        tokens: &dyn TokenOwners,
    ) -> Page {
        let Some(form) = Form::read(request) else { return PageNotice::OtherPage.page() };
        let name = self.cookie_name(&TicketId::of(ticket));
        let browser = cookies(&request.headers).into_iter().find(|(it, _)| *it == name);
        let browser = browser.map(|(_, value)| value);
        if !form.is_yes {
            return self.decline(ticket, &form, browser.as_deref());
        }
        if self.login_needs_token {
            let subject = lock(&self.tickets).subject(ticket, Instant::now());
            let owner = tokens.owner_of(&form.token).await;
            if subject.is_ok_and(|it| Some(it.principal()) != owner.as_ref()) {
                return PageNotice::OtherPrincipal.page();
            }
        }
        let now = Instant::now();
        let consent = lock(&self.tickets).consent(ticket, &form.page, browser.as_deref(), now);
        match consent {
            Ok((subject, asked)) => self.begin_login(ticket, &subject, &asked).await,
            Err(no) => refused(no),
        }
    }

    fn decline(&self, ticket: &str, form: &Form, browser: Option<&str>) -> Page {
        let declined = lock(&self.tickets).decline(ticket, &form.page, browser, Instant::now());
        match declined {
            Ok(subject) => {
                if let Some((_, login)) = self.login_of(&subject) {
                    login.declined();
                }
                PageNotice::Declined.page()
            }
            Err(no) => refused(no),
        }
    }

    /// Begins the login that a person has consented to, and sends the browser there.
    async fn begin_login(
        self: &Arc<Self>,
        ticket: &str,
        subject: &LoginSubject,
        asked: &AskedFor,
    ) -> Page {
        let Some((upstream, login)) = self.login_of(subject) else {
            return PageNotice::NoTicket.page();
        };
        let (state, principal) = (self.clone(), subject.principal().clone());
        let done = move || state.logged_in(&upstream, &principal);
        let id = TicketId::of(ticket);
        match login.begin(id.clone(), asked, done).await {
            Ok(Begun::GoTo(url)) => redirect(&url),
            Ok(Begun::AsksForOther) => {
                lock(&self.tickets).put_back(ticket);
                self.show(ticket).await
            }
            Err(why) => {
                lock(&self.tickets).remove(&id);
                failed(subject, why)
            }
        }
    }

    /// Takes a browser that comes back from an authorization server. Only the one that sent the form is taken;
    /// state and issuer are checked by the login.
    async fn called_back(&self, request: &PageRequest) -> Page {
        let prefix = self.cookie_name(&TicketId::named(""));
        for (name, value) in cookies(&request.headers) {
            let Some(id) = name.strip_prefix(&prefix).map(TicketId::named) else { continue };
            let subject = lock(&self.tickets).under_way(&id, &value, Instant::now());
            let found = subject.and_then(|subject| Some((self.login_of(&subject)?, subject)));
            let Some(((_, login), subject)) = found else { continue };
            let end = login.called_back(&id, request.uri.to_string()).await;
            match end {
                CallbackEnd::NotOurs => continue,
                CallbackEnd::Again(url) => return redirect(&url),
                CallbackEnd::Done | CallbackEnd::Failed(_) => lock(&self.tickets).remove(&id),
            }
            return match end {
                CallbackEnd::Failed(why) => failed(&subject, why),
                _ => PageNotice::Done { server: subject.server.to_string() }.page(),
            };
        }
        PageNotice::NoLogin.page()
    }

    /// Returns the login that a ticket is for, if its principal may still use the server.
    fn login_of(&self, subject: &LoginSubject) -> Option<(Arc<Upstream>, Arc<PrincipalLogin>)> {
        let upstream = self.upstream(&subject.server)?;
        let is_seen = self.rights(&subject.caller).sees(&subject.server);
        let login = upstream.login(subject.principal()).filter(|_| is_seen)?.ok()?;
        Some((upstream, login))
    }

    /// Reads the lists that a principal could not see before, and tells people.
    pub(crate) fn logged_in(self: &Arc<Self>, upstream: &Arc<Upstream>, principal: &Principal) {
        let (server, name) = (upstream.name().clone(), principal.name().into());
        (self.tell)(GatewayNews::LoggedIn { server, principal: name });
        for (owner, link) in upstream.links.of_principal(principal) {
            ListKind::ALL
                .into_iter()
                .for_each(|kind| self.read_again(upstream, &owner, kind, &link));
        }
    }

    fn cookie(&self, ticket: &TicketId, value: &str) -> String {
        let name = self.cookie_name(ticket);
        let secure = if self.is_https() { "; Secure" } else { "" };
        // `Lax`, so that it comes with the redirect from the authorization server.
        format!("{name}={value}; Path=/; Max-Age=600; HttpOnly; SameSite=Lax{secure}")
    }

    /// Each ticket has a cookie of its own, so that two logins in one browser do not meet. With TLS, no other
    /// host can set one of this name.
    fn cookie_name(&self, ticket: &TicketId) -> String {
        let prefix = if self.is_https() { "__Host-" } else { "" };
        format!("{prefix}ridethrough-login-{ticket}")
    }

    fn is_https(&self) -> bool {
        self.public_url.get().is_some_and(|url| url.starts_with("https:"))
    }
}

/// The form of the page on which a person decides.
struct Form {
    page: String,
    is_yes: bool,
    /// The token that proves who the person is; empty if the page asks for none.
    token: String,
}

impl Form {
    /// Reads a form that a page of ours has sent; `None` if it comes from elsewhere, or has another shape.
    fn read(request: &PageRequest) -> Option<Self> {
        let is_form = header(&request.headers, CONTENT_TYPE.as_str())
            .is_some_and(|it| it.starts_with("application/x-www-form-urlencoded"));
        if !is_form || !is_from_here(&request.headers) {
            return None;
        }
        let body = std::str::from_utf8(&request.body).ok()?;
        let only = |name: &str| {
            let mut values = body.split('&').filter_map(|it| it.split_once('='));
            let mut values = values.by_ref().filter(|(it, _)| *it == name).map(|(_, value)| value);
            let value = values.next()?;
            values.next().is_none().then(|| value.to_owned())
        };
        let is_yes = match only("answer")?.as_str() {
            "yes" => true,
            "no" => false,
            _ => return None,
        };
        let token = only("token").and_then(|it| decoded(&it)).unwrap_or_default();
        Some(Self { page: only("page")?, is_yes, token: token.trim().to_owned() })
    }
}

/// Whether a browser says that a page of ours sent the request, or says nothing. Our pages tell no site where
/// they are, so that browsers send `null` for them.
fn is_from_here(headers: &HeaderMap) -> bool {
    let host = header(headers, HOST.as_str()).unwrap_or_default();
    let is_own = |origin: &str| {
        origin == "null" || origin.split_once("://").is_some_and(|(_, place)| place == host)
    };
    let is_origin =
        !headers.contains_key(ORIGIN) || header(headers, ORIGIN.as_str()).is_some_and(is_own);
    let is_site = !headers.contains_key(FETCH_SITE)
        || header(headers, FETCH_SITE).is_some_and(|it| it == "same-origin");
    is_origin && is_site
}

/// Returns the value of a header that is there once.
fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok()
}

/// Returns a value of a form without its escapes.
fn decoded(text: &str) -> Option<String> {
    let text = text.replace('+', " ");
    percent_decode_str(&text).decode_utf8().ok().map(Cow::into_owned)
}

fn cookies(headers: &HeaderMap) -> Vec<(String, String)> {
    let all = headers.get_all(COOKIE).iter().filter_map(|it| it.to_str().ok());
    let pairs = all.flat_map(|it| it.split(';')).filter_map(|it| it.trim().split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn failed(subject: &LoginSubject, why: String) -> Page {
    PageNotice::Failed { server: subject.server.to_string(), why }.page()
}

fn refused(no: NoConsent) -> Page {
    match no {
        NoConsent::NoTicket => PageNotice::NoTicket.page(),
        NoConsent::OtherPage => PageNotice::OtherPage.page(),
    }
}

const LOGIN: &str = "/login/";
/// Where authorization servers send browsers back to.
pub(crate) const CALLBACK: &str = "/oauth/callback";
/// Says whether a page of the same site sent a request.
const FETCH_SITE: &str = "sec-fetch-site";
