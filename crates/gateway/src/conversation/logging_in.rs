//! Calls whose principal has no login at a server: the caller's person is asked to open the gateway's page, or the
//! caller is told where it is.
//!
//! A call waits for the end of the login and then goes on. While it waits, it has no place at the server. Calls of
//! one session lead to one page. Lists never wait: hosts begin with them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::FutureExt;
use ridethrough_server::Aside;
use ridethrough_wire::message::{Answer, Json, notification};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::asked_logins::LoginEnd;
use super::context::Context;
use super::own_words::OwnQuestion;
use super::questions::can_show_pages;
use crate::fault::{self, LoginWay};
use crate::logins::{LoginSubject, PrincipalLogin, profile, random_text};
use crate::upstreams::Upstream;

/// A call that waits for a login.
pub(super) struct WaitingCall<'a> {
    /// What says things beside its answer; `None` for a list, which does not wait.
    pub(super) aside: Option<&'a Aside>,
    /// What the client of a stateless request can do.
    pub(super) capabilities: Option<&'a Json>,
    /// What the client of a stateless request calls itself.
    pub(super) client: Option<&'a Json>,
}

/// Waits until a person has logged in; or returns the answer to a call that cannot be made.
pub(super) async fn log_in(
    context: &Arc<Context>,
    upstream: &Arc<Upstream>,
    login: &Arc<PrincipalLogin>,
    call: WaitingCall<'_>,
) -> Result<(), Answer> {
    let url = login_url(context, upstream, call.client);
    let told = |failed: Option<&str>| refusal(context, upstream, url.as_deref(), failed);
    let Some(url) = &url else { return Err(told(None)) };
    let aside = upstream.bulkhead.stand_aside();
    if aside.is_none() || !can_be_shown(context, upstream, call.capabilities) {
        return Err(told(None));
    }
    let end = if context.caller.is_stateless {
        // Each call is all that is known of its client.
        asked(context.clone(), upstream.clone(), login.clone(), url.clone(), call.aside.cloned())
            .await
    } else {
        context
            .logins
            .join(upstream.name(), || {
                let (context, upstream, login) = (context.clone(), upstream.clone(), login.clone());
                asked(context, upstream, login, url.clone(), call.aside.cloned()).boxed()
            })
            .await
    };
    match end {
        LoginEnd::Done => Ok(()),
        LoginEnd::CannotShow => Err(told(None)),
        LoginEnd::Declined => Err(told(Some("the page was not opened"))),
        LoginEnd::Failed(why) => Err(told(Some(&why))),
    }
}

/// Asks the caller's person to log in, while nobody waits for it: a list has found that it is needed.
pub(super) fn offer_login(context: &Arc<Context>, upstream: &Arc<Upstream>) {
    let Some(Ok(login)) = upstream.login(&context.caller.principal) else { return };
    if !can_be_shown(context, upstream, None) || context.logins.has(upstream.name()) {
        return;
    }
    let (context, upstream) = (context.clone(), upstream.clone());
    tokio::spawn(async move {
        let call = WaitingCall { aside: None, capabilities: None, client: None };
        // Whoever calls is told what became of it.
        let _ = log_in(&context, &upstream, &login, call).await;
    });
}

/// Returns the answer to a request that cannot be made before a person has logged in.
pub(super) fn refusal_of_list(
    context: &Context,
    upstream: &Upstream,
    client: Option<&Json>,
) -> Answer {
    let url = login_url(context, upstream, client);
    refusal(context, upstream, url.as_deref(), None)
}

/// Returns the address of the page at which a person logs in.
pub(super) fn login_url(
    context: &Context,
    upstream: &Upstream,
    client: Option<&Json>,
) -> Option<String> {
    let known = context.client_info();
    let client = client.or(known.as_ref()).map(client_name).unwrap_or_default();
    let (caller, server) = (context.caller.clone(), upstream.name().clone());
    context.state.login_url(&LoginSubject { caller, server, client })
}

fn refusal(
    context: &Context,
    upstream: &Upstream,
    url: Option<&str>,
    failed: Option<&str>,
) -> Answer {
    let principal = &context.caller.principal;
    let way = LoginWay { url, profile: &profile(principal), failed };
    fault::login_needed(upstream.name(), principal, &way)
}

fn can_be_shown(context: &Context, upstream: &Upstream, capabilities: Option<&Json>) -> bool {
    let can = capabilities.cloned().unwrap_or_else(|| context.capabilities());
    can_show_pages(&can) && !context.has_declined(upstream.name())
}

/// Asks the caller to show the page, and waits for the end of the login.
async fn asked(
    context: Arc<Context>,
    upstream: Arc<Upstream>,
    login: Arc<PrincipalLogin>,
    url: String,
    call: Option<Aside>,
) -> LoginEnd {
    let id = format!("ridethrough-login-{}", &random_text()[..12]);
    let server = upstream.name();
    let message = format!(
        "`{server}` needs a login. The page of the gateway says what you are asked for, before you go on."
    );
    let params =
        Json::from(json!({ "mode": "url", "elicitationId": id, "url": url, "message": message }));
    let mut question = context.words.ask("elicitation/create", params, call.clone());
    let end = waited(&mut question, &login).await;
    // Of many clients, each has a person of its own.
    if end == LoginEnd::Declined && !context.caller.is_stateless {
        context.decline(server);
    }
    if end == LoginEnd::Done {
        let params = Json::from(json!({ "elicitationId": id }));
        context.words.tell(notification::ELICITATION_COMPLETE, params, call);
    }
    end
}

async fn waited(question: &mut OwnQuestion, login: &PrincipalLogin) -> LoginEnd {
    let logged_in = login.logged_in();
    tokio::pin!(logged_in);
    let answer = tokio::select! {
        biased;
        end = &mut logged_in => return end.map_or_else(LoginEnd::Failed, |()| LoginEnd::Done),
        answer = question.answer() => answer,
        () = sleep(LONGEST) => return not_finished(),
    };
    match answer.as_ref() {
        Some(Answer::Result(result)) => {
            let action = result.member("action");
            match action.as_ref().and_then(Json::string).as_deref() {
                Some("accept") => match timeout(LONGEST, logged_in).await {
                    Ok(end) => end.map_or_else(LoginEnd::Failed, |()| LoginEnd::Done),
                    Err(_) => not_finished(),
                },
                Some("cancel") => LoginEnd::Failed("the page was closed".to_owned()),
                _ => LoginEnd::Declined,
            }
        }
        Some(Answer::Error(_)) | None => LoginEnd::CannotShow,
    }
}

fn not_finished() -> LoginEnd {
    LoginEnd::Failed("nobody has logged in within five minutes".to_owned())
}

/// Returns what a client calls itself.
fn client_name(info: &Json) -> String {
    let text = |name| info.member(name).and_then(|it| it.read::<String>()).unwrap_or_default();
    let name = [text("title"), text("name")].into_iter().find(|it| !it.is_empty());
    format!("{} {}", name.unwrap_or_default(), text("version")).trim().to_owned()
}

/// How long a call waits for a person.
const LONGEST: Duration = Duration::from_secs(300);
