//! One request to an authorization server, or for a document.

use std::time::Duration;

use tokio::time::timeout;

use super::WrongLogin;
use crate::http1_client::WireConnection;
use crate::wrong::mistake::Habit;
use crate::wrong::target::Target;

/// An answer, read whole.
pub(super) struct FetchedText {
    pub(super) status: u16,
    pub(super) body: String,
}

impl WrongLogin {
    pub(super) async fn get(&self, url: &str) -> Result<FetchedText, String> {
        self.fetch("GET", url, None).await
    }

    /// Sends a body of this media type.
    pub(super) async fn post(
        &self,
        url: &str,
        kind: &str,
        body: &str,
    ) -> Result<FetchedText, String> {
        self.fetch("POST", url, Some((kind, body))).await
    }

    async fn fetch(
        &self,
        http: &str,
        url: &str,
        body: Option<(&str, &str)>,
    ) -> Result<FetchedText, String> {
        let mut url = url.to_owned();
        loop {
            let asked = timeout(PATIENCE, self.fetch_once(http, &url, body)).await;
            let (whole, location) = asked.map_err(|_| format!("`{url}` does not answer"))??;
            let is_redirect = matches!(whole.status, 307 | 308);
            match location.filter(|_| is_redirect && self.has(Habit::FollowsAnywhere)) {
                Some(next) => url = next,
                None => return Ok(whole),
            }
        }
    }

    async fn fetch_once(
        &self,
        http: &str,
        url: &str,
        body: Option<(&str, &str)>,
    ) -> Result<(FetchedText, Option<String>), String> {
        let target = Target::of(url, None).ok_or("the URL does not begin with `http://`")?;
        let Target { authority, path } = &target;
        let mut text =
            format!("{http} {path} HTTP/1.1\r\nhost: {authority}\r\naccept: application/json\r\n");
        if let Some((kind, body)) = body {
            text += &format!("content-type: {kind}\r\ncontent-length: {}\r\n", body.len());
        }
        text = format!("{text}\r\n{}", body.map_or("", |(_, body)| body));
        let failed = |error: std::io::Error| format!("`{url}` does not answer: {error}");
        let stream = (self.dial)(authority.clone()).await.map_err(failed)?;
        let connection = WireConnection::new(stream, authority.clone());
        let mut reply = connection.ask(text.as_bytes()).await.map_err(failed)?;
        let pieces = reply.body.rest(MOST_BYTES).await.map_err(failed)?;
        let body = String::from_utf8_lossy(&pieces.concat()).into_owned();
        let location = reply.header("location").map(str::to_owned);
        Ok((FetchedText { status: reply.status, body }, location))
    }
}

const MOST_BYTES: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(2);
