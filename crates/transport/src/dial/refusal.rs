//! Detects that a server refuses the client's certificate after the handshake seemed complete.
//!
//! A TLS 1.3 client completes its handshake, and sends its request, before the server has checked the
//! client's certificate. The alert that refuses it arrives like data, and hyper would report a broken
//! connection. It belongs to the handshake nevertheless: the client allows no later check (RFC 8446, 4.6.2),
//! and a server does not pass on data of a client that it has not accepted.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use rustls::ProtocolVersion;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{ByteStream, alert};

/// The server's refusal of the client's certificate, shared with the code that must know it.
#[derive(Clone, Debug, Default)]
pub(crate) struct CertificateRefusal {
    words: Arc<OnceLock<String>>,
}

impl CertificateRefusal {
    /// Returns the words of a refusal. If there are any, the server has read nothing of a request.
    pub(crate) fn words(&self) -> Option<&str> {
        self.words.get().map(String::as_str)
    }
}

/// A TLS stream whose first message may be a refusal.
pub(super) struct Judged<T> {
    stream: T,
    refusal: CertificateRefusal,
    /// Whether the server has accepted the client, which it has once it sends data.
    is_accepted: bool,
}

impl<T: ByteStream> Judged<T> {
    /// Wraps a stream. Before TLS 1.3 a complete handshake shows that the server has accepted the client:
    /// nothing that follows is a refusal.
    pub(super) fn new(stream: T, version: Option<ProtocolVersion>) -> (Self, CertificateRefusal) {
        let refusal = CertificateRefusal::default();
        let is_accepted = version != Some(ProtocolVersion::TLSv1_3);
        (Self { stream, refusal: refusal.clone(), is_accepted }, refusal)
    }

    fn judge(&mut self, error: &io::Error) {
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        if let Some(rustls::Error::AlertReceived(alert)) = tls
            && alert::is_about_certificates(*alert)
            && !self.is_accepted
        {
            // The first refusal counts; later ones are equal.
            let _ = self.refusal.words.set(alert::in_words(*alert));
        }
    }
}

impl<T: ByteStream> AsyncRead for Judged<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        match &result {
            Ok(()) => self.is_accepted |= buffer.filled().len() > before,
            Err(error) => self.judge(error),
        }
        Poll::Ready(result)
    }
}

impl<T: ByteStream> AsyncWrite for Judged<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use rustls::AlertDescription;
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn an_alert_about_a_certificate_is_a_refusal_and_any_other_is_not() {
        let required = refusal_after([Err(AlertDescription::CertificateRequired)]).await;
        let other = refusal_after([Err(AlertDescription::InternalError)]).await;

        assert_eq!(required.words(), Some("the server said `certificate required`"));
        assert_eq!(other.words(), None);
    }

    #[tokio::test]
    async fn a_server_that_has_sent_data_refuses_no_certificate_any_more() {
        let late = refusal_after([Ok(b"x"), Err(AlertDescription::CertificateRequired)]).await;

        assert_eq!(late.words(), None);
    }

    #[tokio::test]
    async fn a_server_of_tls_1_2_has_accepted_us_with_the_handshake() {
        let alert = [Err(AlertDescription::AccessDenied)].into();
        let (mut judged, refusal) = Judged::new(Told(alert), Some(ProtocolVersion::TLSv1_2));

        assert!(judged.read_u8().await.is_err());

        assert_eq!(refusal.words(), None, "it may have run what it read");
    }

    async fn refusal_after<const N: usize>(
        reads: [Result<&'static [u8; 1], AlertDescription>; N],
    ) -> CertificateRefusal {
        let (mut judged, refusal) = Judged::new(Told(reads.into()), Some(ProtocolVersion::TLSv1_3));
        while judged.read_u8().await.is_ok() {}
        refusal
    }

    /// A stream that gives these pieces, and fails with these alerts.
    struct Told(VecDeque<Result<&'static [u8; 1], AlertDescription>>);

    impl AsyncRead for Told {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Poll::Ready(match self.0.pop_front() {
                Some(Ok(piece)) => {
                    buffer.put_slice(piece);
                    Ok(())
                }
                Some(Err(alert)) => Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    rustls::Error::AlertReceived(alert),
                )),
                None => Ok(()),
            })
        }
    }

    impl AsyncWrite for Told {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }
}
