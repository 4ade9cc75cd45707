//! A person's browser: it keeps cookies, and sends forms.

use crate::support::{Answer, get, send};

/// A browser.
#[derive(Default)]
pub(crate) struct Browser {
    cookies: Vec<(String, String)>,
}

impl Browser {
    /// Opens the gateway's page.
    pub(crate) async fn open(&mut self, url: &str) -> Answer {
        let (host, target) = parts(url);
        let cookies = self.cookie_header();
        let request =
            format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n{cookies}connection: close\r\n\r\n");
        self.keep(send(host, &request).await)
    }

    /// Sends a form, with these headers.
    pub(crate) async fn send(&mut self, url: &str, form: &str, more: &str) -> Answer {
        let (host, target) = parts(url);
        let (cookies, length) = (self.cookie_header(), form.len());
        let request = format!(
            "POST {target} HTTP/1.1\r\nhost: {host}\r\n{cookies}{more}\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{form}"
        );
        self.keep(send(host, &request).await)
    }

    /// Opens the gateway's page, says yes, and returns where the browser is sent.
    pub(crate) async fn consent(&mut self, url: &str) -> String {
        let page = self.open(url).await;
        let answer = self.send(url, &yes(&page), FROM_OUR_PAGE).await;
        assert_eq!(answer.status, 303, "{}", answer.body);
        answer.header("location").unwrap().to_owned()
    }

    /// Logs in at the authorization server, and returns where the browser is sent back to.
    pub(crate) async fn log_in_at(&self, url: &str) -> String {
        get(url).await.header("location").unwrap().to_owned()
    }

    /// Goes the whole way, and returns the last page.
    pub(crate) async fn log_in(&mut self, url: &str) -> Answer {
        let there = self.consent(url).await;
        let back = self.log_in_at(&there).await;
        self.open(&back).await
    }

    fn cookie_header(&self) -> String {
        let pairs: Vec<_> = self.cookies.iter().map(|(name, it)| format!("{name}={it}")).collect();
        if pairs.is_empty() { String::new() } else { format!("cookie: {}\r\n", pairs.join("; ")) }
    }

    fn keep(&mut self, answer: Answer) -> Answer {
        let cookie = answer.header("set-cookie").and_then(|it| it.split(';').next());
        if let Some((name, value)) = cookie.and_then(|it| it.split_once('=')) {
            self.cookies.retain(|(it, _)| it != name);
            self.cookies.push((name.to_owned(), value.to_owned()));
        }
        answer
    }
}

/// The form of a page with the answer yes.
pub(crate) fn yes(page: &Answer) -> String {
    let (_, rest) = page.body.split_once("name=\"page\" value=\"").expect("the page has a form");
    format!("page={}&answer=yes", rest.split('"').next().unwrap())
}

fn parts(url: &str) -> (&str, String) {
    let rest = url.strip_prefix("http://").expect("tests stay on this machine");
    let (host, target) = rest.split_once('/').unwrap_or((rest, ""));
    (host, format!("/{target}"))
}

/// What browsers add to the form of a page that tells no site where it is.
pub(crate) const FROM_OUR_PAGE: &str = "origin: null\r\nsec-fetch-site: same-origin\r\n";
