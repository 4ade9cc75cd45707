//! What a failed request proves about its delivery.
//!
//! A call that is not safe may be repeated only if no byte of it can have reached the server. These are the
//! cases that prove it, and there are no others; each has a test of its own in `tests/faults/proof.rs`. Every
//! other error is *Unknown*.
//!
//! | proof of NotSent | why |
//! |---|---|
//! | the dial failed: name, connect, proxy, TLS, HTTP handshake | there was nothing to write on |
//! | the server refused our certificate | it did so in the TLS handshake, though the client learns of it later |
//! | hyper gave the message back | sending was not begun |
//! | HTTP/1.1: the connection was sealed and its count of written bytes had not moved | nothing was written, and nothing can be any more |
//! | HTTP/2: the peer reset the stream with `REFUSED_STREAM` | RFC 9113, 8.7: not processed |
//! | HTTP/2: the peer went away and the last stream it speaks of is below ours | RFC 9113, 6.8: not processed |

#[cfg_attr(not(feature = "http2"), path = "proof/http2_absent.rs")]
mod http2;

use std::error::Error;
use std::io;

use http::Request;
use hyper::client::conn::TrySendError;
use ridethrough_core::{Cause, Failure};

use crate::dial::CertificateRefusal;
use crate::pool::Unanswered;

/// Returns the failure of a request on HTTP/1.1.
pub(super) fn of_http1(request: Unanswered) -> Failure {
    let Unanswered { mut error, written, refusal } = request;
    if let Some(words) = refusal.words() {
        return Failure::not_sent(Cause::TlsRefused).with_detail(words);
    }
    let is_back = error.take_message().is_some();
    let error = error.into_error();
    let failure = if is_back || written == 0 {
        Failure::not_sent(cause(&error))
    } else {
        Failure::unknown(cause(&error))
    };
    detailed(failure, &error)
}

/// Returns the failure of a request on HTTP/2, where the connection's count says nothing about one stream.
pub(super) fn of_http2<B>(
    mut error: TrySendError<Request<B>>,
    refusal: &CertificateRefusal,
) -> Failure {
    if let Some(words) = refusal.words() {
        return Failure::not_sent(Cause::TlsRefused).with_detail(words);
    }
    let is_back = error.take_message().is_some();
    let error = error.into_error();
    let failure = match http2::ended(&error) {
        Some(http2::StreamEnd::Refused) => Failure::not_sent(Cause::StreamRefused),
        Some(http2::StreamEnd::WentAway) => Failure::not_sent(Cause::Closed),
        _ if is_back => Failure::not_sent(cause(&error)),
        _ => Failure::unknown(cause(&error)),
    };
    detailed(failure, &error)
}

/// Returns the failure of a request for which it does not matter whether it was sent.
pub(crate) fn of_send(error: &hyper::Error) -> Failure {
    detailed(Failure::unknown(cause(error)), error)
}

/// Returns the failure of a body that broke off: the server had the request.
pub(super) fn of_body(error: &hyper::Error) -> Failure {
    detailed(Failure::unknown(cause(error)), error)
}

/// Adds hyper's words, unless they add nothing to the cause.
fn detailed(failure: Failure, error: &hyper::Error) -> Failure {
    // hyper tells the kinds of its errors apart by these words alone.
    let is_empty = error.is_incomplete_message() || EMPTY.contains(&error.to_string().as_str());
    if is_empty { failure } else { failure.with_detail(words(error)) }
}

/// Returns the cause in the machine's terms.
fn cause(error: &hyper::Error) -> Cause {
    if error.is_parse() {
        return Cause::Unreadable;
    }
    if let Some(error) = find::<io::Error>(error) {
        return match error.kind() {
            io::ErrorKind::ConnectionReset => Cause::Reset,
            io::ErrorKind::TimedOut => Cause::Silent,
            // hyper reports a body that is not what its headers claim in this way.
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => Cause::Unreadable,
            _ => Cause::Closed,
        };
    }
    match http2::ended(error) {
        Some(http2::StreamEnd::Refused | http2::StreamEnd::Reset) => Cause::Reset,
        _ if error.is_timeout() => Cause::Silent,
        _ => Cause::Closed,
    }
}

/// Returns the words of the layers below, innermost last. They never quote what was sent.
fn words(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

fn find<E: Error + 'static>(error: &hyper::Error) -> Option<&E> {
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(found) = inner.downcast_ref::<E>() {
            return Some(found);
        }
        source = inner.source();
    }
    None
}

/// The words of hyper for a body that broke off, and for what is not HTTP, which the cause says already.
const EMPTY: [&str; 2] = ["error reading a body from connection", "invalid HTTP version parsed"];
