//! Reads bodies: answers in JSON, and refusals that may contain an answer.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use serde_json::Value;

use super::call::Call;
use super::mistake::Habit;
use super::trouble::{Trouble, TroubleKind};
use crate::http1_client::{WireBody, WireReply};

impl Call {
    /// Reads an answer in JSON.
    pub(super) async fn read(&mut self, mut body: WireBody) -> Result<Value, Trouble> {
        let pieces = self.pieces(&mut body).await?;
        let text = self.joined(&pieces);
        self.client.keep(body).await;
        let message: Value = serde_json::from_slice(&text).map_err(|error| {
            Trouble::new(TroubleKind::Odd, format!("the answer is no JSON: {error}"))
        })?;
        if self.is_answer(&message) || message["id"].is_null() && !message["error"].is_null() {
            return Ok(message);
        }
        Err(Trouble::new(TroubleKind::Odd, "the answer belongs to another request"))
    }

    /// Reads the whole body, and enforces a limit on all bodies together where that is the habit.
    async fn pieces(&self, body: &mut WireBody) -> Result<Vec<Bytes>, Trouble> {
        if !self.has(Habit::BlamesTheSum) {
            return body.rest(self.most()).await.map_err(|error| Trouble::broken(&error));
        }
        let (mut pieces, reading) = (Vec::new(), &self.client.reading);
        loop {
            let piece = body.piece().await.map_err(|error| Trouble::broken(&error))?;
            let length = piece.as_ref().map_or(0, Bytes::len);
            let sum = reading.fetch_add(length, Ordering::Relaxed) + length;
            pieces.extend(piece.clone());
            if piece.is_some() && sum <= MOST_IN_ALL {
                continue;
            }
            reading.fetch_sub(pieces.iter().map(Bytes::len).sum(), Ordering::Relaxed);
            return match piece {
                Some(_) => Err(Trouble::new(TroubleKind::Odd, "the answers are too large")),
                None => Ok(pieces),
            };
        }
    }

    /// Reads a response with a status other than 200. A JSON-RPC answer in it counts, unless a habit says
    /// otherwise.
    pub(super) async fn refused(&self, mut reply: WireReply) -> Result<Value, Trouble> {
        let pieces = reply.body.rest(self.most()).await.unwrap_or_default();
        let body = self.joined(&pieces);
        let text = String::from_utf8_lossy(&body).into_owned();
        let mut trouble = Trouble::refused(&reply, text);
        if self.has(Habit::DropsWords) {
            trouble.text = format!("the server answered with status {}", reply.status);
        }
        if self.has(Habit::Denies) {
            trouble.text += "; it did not run";
        }
        let is_answer = self.may_answer(&reply);
        self.client.keep(reply.body).await;
        match serde_json::from_slice(&body) {
            Ok(message) if is_answer && self.is_answer(&message) => Ok(message),
            _ => Err(trouble),
        }
    }

    /// Whether a body that names our id is the answer under this status.
    fn may_answer(&self, reply: &WireReply) -> bool {
        let has = |habits: &[Habit]| habits.iter().any(|habit| self.has(*habit));
        let is_before = match reply.status {
            401 | 403 => reply.header("www-authenticate").is_some(),
            425 | 429 => true,
            503 => reply.header("retry-after").is_some(),
            _ => false,
        };
        // A client that knows both eras has to look at errors more closely first.
        let is_repeated = match reply.status {
            404 | 410 if has(&[Habit::BelievesRefusals]) => true,
            400..=499 => self.client.mistake.asks_era || has(&[Habit::RenewsOnAnyError]),
            _ => has(&[Habit::Hammers, Habit::PostsAgain, Habit::Repeats500]),
        };
        !is_before && !is_repeated
    }

    /// Returns the pieces as one body, decoded as this client does it.
    pub(super) fn joined(&self, pieces: &[Bytes]) -> Vec<u8> {
        if !self.has(Habit::DecodesPieces) {
            return pieces.concat();
        }
        let text: String = pieces.iter().map(|piece| String::from_utf8_lossy(piece)).collect();
        text.into_bytes()
    }

    fn most(&self) -> usize {
        if self.has(Habit::NoLimits) { usize::MAX } else { MOST_BODY }
    }
}

const MOST_BODY: usize = 8 << 20;
const MOST_IN_ALL: usize = 16 << 20;
