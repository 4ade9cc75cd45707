//! A person with a browser, scripted: follows redirects, keeps cookies, fills in forms.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use ridethrough::Client;
use ridethrough::probe::Question;
use ridethrough::transport::BoxFuture;
use ridethrough_oauth::person::{LoginPrompt, Person};
use tokio::sync::mpsc;

use super::page::{self, Form};
use crate::partner::{Verdict, short, words};

/// A person who consents to everything.
#[derive(Clone)]
pub(super) struct Robot {
    manner: CallbackManner,
    state: Arc<Mutex<RobotState>>,
    paste: mpsc::UnboundedSender<String>,
    pasted: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<String>>>,
}

/// The way in which the callback comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallbackManner {
    /// The browser opens it.
    Opened,
    /// The browser is on another machine: the person pastes its URL.
    Pasted,
}

#[derive(Default)]
struct RobotState {
    logins: usize,
    fault: Option<String>,
}

impl Robot {
    pub(super) fn new(manner: CallbackManner) -> Self {
        let (paste, pasted) = mpsc::unbounded_channel();
        let pasted = Arc::new(tokio::sync::Mutex::new(pasted));
        Self { manner, state: Arc::default(), paste, pasted }
    }

    /// Returns how many logins it was asked for.
    pub(super) fn logins(&self) -> usize {
        self.state().logins
    }

    /// Returns what went wrong in the browser.
    pub(super) fn fault(&self) -> Option<String> {
        self.state().fault.clone()
    }

    async fn log_in(&self, url: String, user_code: Option<String>) -> Verdict {
        let mut browser = Browser::default();
        let mut found = browser.get(&url).await?;
        for _ in 0..MOST_STEPS {
            found = if let Some(location) = found.location {
                if self.manner == CallbackManner::Pasted && is_callback(&location) {
                    return self.paste.send(location).map_err(words);
                }
                browser.get(&location).await?
            } else if let Some(form) = page::next_form(&found.body, user_code.as_deref()) {
                browser.send(&found.url, &form).await?
            } else if found.status == StatusCode::OK {
                return Ok(());
            } else {
                let page = short(&page::words(&found.body));
                return Err(format!("{} from {}: {page}", found.status, found.url));
            };
        }
        let page = short(&page::words(&found.body));
        Err(format!("the login has no end; the last page is {}: {page}", found.url))
    }

    fn state(&self) -> MutexGuard<'_, RobotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Person for Robot {
    fn show<'a>(&'a self, prompt: &'a LoginPrompt) -> BoxFuture<'a, ()> {
        self.state().logins += 1;
        let (robot, url, code) = (self.clone(), prompt.url.clone(), prompt.user_code.clone());
        tokio::spawn(async move {
            if let Err(why) = robot.log_in(url, code).await {
                robot.state().fault = Some(why);
            }
        });
        Box::pin(async {})
    }

    fn pasted(&self) -> BoxFuture<'_, String> {
        Box::pin(async {
            match self.pasted.lock().await.recv().await {
                Some(url) => url,
                None => std::future::pending().await,
            }
        })
    }
}

/// A browser with cookies, of any path: there is one server.
#[derive(Default)]
struct Browser {
    cookies: BTreeMap<String, String>,
}

/// A page.
struct Page {
    url: String,
    status: StatusCode,
    /// The target, if it is a redirect.
    location: Option<String>,
    body: String,
}

impl Browser {
    async fn get(&mut self, url: &str) -> Verdict<Page> {
        self.ask(url, Question::get()).await
    }

    async fn send(&mut self, page: &str, form: &Form) -> Verdict<Page> {
        let mut question = Question::of(Method::POST, form.encoded());
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        question.headers.insert(CONTENT_TYPE, form_type);
        let url = if form.action.is_empty() { page.to_owned() } else { join(page, &form.action) };
        self.ask(&url, question).await
    }

    async fn ask(&mut self, url: &str, mut question: Question) -> Verdict<Page> {
        let cookies: Vec<_> =
            self.cookies.iter().map(|(name, it)| format!("{name}={it}")).collect();
        if !cookies.is_empty() {
            let cookies = HeaderValue::try_from(cookies.join("; ")).map_err(words)?;
            question.headers.insert(COOKIE, cookies);
        }
        let probe = Client::builder(url).no_proxy().probe().map_err(words)?;
        let mut line = probe.connect().await.map_err(words)?;
        let mut found = line.ask(question).await.map_err(words)?;
        let mut body = Vec::new();
        while let Some(chunk) = poll_fn(|context| found.body.poll_chunk(context)).await {
            body.extend_from_slice(&chunk.map_err(words)?);
        }
        self.keep_cookies(&found.headers);
        let location = found.headers.get(LOCATION).and_then(|it| it.to_str().ok());
        Ok(Page {
            url: url.to_owned(),
            status: found.head.status,
            location: location.map(|location| join(url, location)),
            body: String::from_utf8_lossy(&body).into_owned(),
        })
    }

    fn keep_cookies(&mut self, headers: &HeaderMap) {
        for cookie in headers.get_all(SET_COOKIE) {
            let pair = cookie.to_str().ok().and_then(|it| it.split(';').next()?.split_once('='));
            match pair {
                Some((name, "")) => drop(self.cookies.remove(name)),
                Some((name, value)) => {
                    self.cookies.insert(name.to_owned(), value.to_owned());
                }
                None => {}
            }
        }
    }
}

/// Resolves a URL as it is written in a page of this URL.
fn join(page: &str, url: &str) -> String {
    if url.starts_with("http://") {
        return url.to_owned();
    }
    let origin_ends = page.match_indices('/').nth(2).map_or(page.len(), |(at, _)| at);
    format!("{}{url}", &page[..origin_ends])
}

fn is_callback(url: &str) -> bool {
    url.split('?').next().is_some_and(|path| path.ends_with("/callback"))
}

/// The most pages and redirects of one login.
const MOST_STEPS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_a_page_is_absolute_or_of_its_server() {
        assert_eq!(join("http://a:1/x/y?z", "/b"), "http://a:1/b");
        assert_eq!(
            join("http://a:1/x", "http://c:2/callback?code=1"),
            "http://c:2/callback?code=1"
        );
    }
}
