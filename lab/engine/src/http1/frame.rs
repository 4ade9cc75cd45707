//! The layout of an HTTP/1.1 answer in bytes.

use std::borrow::Cow;

use bytes::{BufMut, BytesMut};
use http::StatusCode;
use http::header::CONTENT_LENGTH;
use http::response::Parts;

/// The marking of the end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// In chunks, the last one empty.
    Chunked,
    /// By a `content-length` of this many bytes.
    Length(usize),
    /// By a `content-length` that the handler set itself, or not at all.
    Own,
}

impl Framing {
    /// Returns the bytes that carry this piece of a body; none for an empty piece, which as a chunk would end
    /// the body.
    pub(crate) fn frame(self, piece: &[u8]) -> Cow<'_, [u8]> {
        if self != Self::Chunked || piece.is_empty() {
            return Cow::Borrowed(piece);
        }
        let mut framed = format!("{:x}\r\n", piece.len()).into_bytes();
        framed.extend_from_slice(piece);
        framed.extend_from_slice(b"\r\n");
        Cow::Owned(framed)
    }

    /// Returns the bytes that carry the last piece and the end of a body.
    pub(crate) fn last_frame(self, piece: &[u8]) -> Cow<'_, [u8]> {
        let mut framed = self.frame(piece);
        if self == Self::Chunked {
            framed.to_mut().extend_from_slice(b"0\r\n\r\n");
        }
        framed
    }
}

/// Writes the head of an answer, and returns the framing that its headers lead to: a length that the handler
/// set wins.
pub(crate) fn write_head(parts: &Parts, framing: Framing) -> (BytesMut, Framing) {
    let mut head = BytesMut::with_capacity(256);
    let reason = parts.status.canonical_reason().unwrap_or_default();
    head.put_slice(format!("HTTP/1.1 {} {reason}\r\n", parts.status.as_str()).as_bytes());
    for (name, value) in &parts.headers {
        head.put_slice(name.as_ref());
        head.put_slice(b": ");
        head.put_slice(value.as_bytes());
        head.put_slice(b"\r\n");
    }
    let framing = if parts.headers.contains_key(CONTENT_LENGTH) || is_bodiless(parts.status) {
        Framing::Own
    } else {
        framing
    };
    match framing {
        Framing::Chunked => head.put_slice(b"transfer-encoding: chunked\r\n"),
        Framing::Length(length) => {
            head.put_slice(format!("content-length: {length}\r\n").as_bytes());
        }
        Framing::Own => {}
    }
    head.put_slice(b"\r\n");
    (head, framing)
}

/// Whether answers of this status end with their head (RFC 9112, section 6.3).
fn is_bodiless(status: StatusCode) -> bool {
    status.is_informational()
        || status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::*;

    #[test]
    fn the_last_chunk_and_the_end_of_a_body_are_one_piece_of_bytes() {
        assert_eq!(&*Framing::Chunked.last_frame(b"hello"), b"5\r\nhello\r\n0\r\n\r\n");
        assert_eq!(&*Framing::Chunked.last_frame(b""), b"0\r\n\r\n");
    }

    #[test]
    fn an_empty_piece_does_not_end_a_chunked_body() {
        assert_eq!(&*Framing::Chunked.frame(b""), b"");
    }

    #[test]
    fn a_length_of_the_handlers_own_is_neither_doubled_nor_chunked() {
        let response = Response::builder().header("content-length", "99").body(());
        let (parts, ()) = response.unwrap().into_parts();

        let (head, framing) = write_head(&parts, Framing::Chunked);

        assert_eq!(&head[..], b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n");
        assert_eq!(&*framing.last_frame(b"short"), b"short");
    }

    #[test]
    fn an_answer_without_content_announces_no_length() {
        let (parts, ()) = Response::builder().status(204).body(()).unwrap().into_parts();

        let (head, _) = write_head(&parts, Framing::Length(0));

        assert_eq!(&head[..], b"HTTP/1.1 204 No Content\r\n\r\n");
    }
}
