//! The body of an answer, in pieces whose client must take each of them in time.
//!
//! In HTTP/1.1 a client that does not read is seen at the socket. In HTTP/2 it can refuse one stream and read
//! the others, so what counts is whether a piece of this body was taken. The last byte is a piece of its own:
//! it is taken only when there was room for all before it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Version;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;

use crate::connections::Answering;

/// The body of an answer. Its request counts as being answered until the body is dropped.
pub(crate) struct Answered {
    body: UnsyncBoxBody<Bytes, Infallible>,
    /// What was read of the body and not yet handed out.
    rest: Bytes,
    answering: Answering,
    is_watched: bool,
}

impl Answered {
    pub(crate) fn new(
        body: UnsyncBoxBody<Bytes, Infallible>,
        answering: Answering,
        version: Version,
    ) -> Self {
        Self { body, rest: Bytes::new(), answering, is_watched: version == Version::HTTP_2 }
    }

    fn piece(&mut self) -> Bytes {
        match self.rest.len() {
            // A copy, so that it does not keep all of the answer in memory.
            1 => Bytes::copy_from_slice(&std::mem::take(&mut self.rest)),
            0..=SMALL => std::mem::take(&mut self.rest),
            large => self.rest.split_to(PIECE.min(large - 1)),
        }
    }
}

impl Body for Answered {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if !self.is_watched {
            return Pin::new(&mut self.body).poll_frame(cx);
        }
        // The next piece is asked for when the one before was taken.
        self.answering.piece_was_taken();
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                None => return Poll::Ready(None),
            }
        }
        self.answering.piece_waits();
        let piece = self.piece();
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (body, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(body.lower() + rest);
        if let Some(upper) = body.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

/// As much as must be taken in a minute.
const PIECE: usize = 64 * 1024;
/// Below this size the last byte is no piece of its own. The bound on requests of a connection is enough for
/// what may be left of these.
const SMALL: usize = 1024;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::{BodyExt, Full};

    use super::*;
    use crate::connections::Connections;

    #[tokio::test]
    async fn in_http_2_an_answer_comes_in_pieces_and_the_last_byte_by_itself() {
        for (size, version, expected) in [
            (3 * PIECE, Version::HTTP_11, vec![3 * PIECE]),
            (3 * PIECE, Version::HTTP_2, vec![PIECE, PIECE, PIECE - 1, 1]),
            (PIECE + 1, Version::HTTP_2, vec![PIECE, 1]),
            (SMALL, Version::HTTP_2, vec![SMALL]),
        ] {
            let text: Bytes = (0..size).map(|byte| byte as u8).collect();
            let connection = Arc::new(Connections::new(1)).admit();
            let body = Full::new(text.clone()).boxed_unsync();
            let mut answered = Answered::new(body, connection.connection.answer(), version);
            let (mut pieces, mut left) = (Vec::new(), size as u64);
            assert_eq!(answered.size_hint().exact(), Some(left));

            while let Some(Ok(frame)) = answered.frame().await {
                let piece = frame.into_data().unwrap();
                left -= piece.len() as u64;
                assert_eq!(answered.size_hint().exact(), Some(left));
                assert_eq!(answered.is_end_stream(), left == 0);
                pieces.push(piece);
            }

            assert_eq!(pieces.iter().map(Bytes::len).collect::<Vec<_>>(), expected);
            assert_eq!(pieces.concat(), text);
        }
    }
}
