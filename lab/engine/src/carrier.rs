//! The ways in which HTTP is carried: which version, and whether TLS protects it.

/// The protocol that a server speaks on every connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// HTTP/1.1 in the clear.
    Http1,
    /// HTTP/1.1 over TLS; ALPN offers `http/1.1` only.
    Http1Tls,
    /// HTTP/2 in the clear, with prior knowledge: to look at frames in tests. It is not in
    /// [`ALL`](Self::ALL), because MCP clients do not speak it.
    Http2,
    /// HTTP/2 over TLS; ALPN offers `h2` only.
    Http2Tls,
}

impl Protocol {
    /// Every protocol that MCP clients use in practice.
    pub const ALL: [Self; 3] = [Self::Http1, Self::Http1Tls, Self::Http2Tls];

    /// Whether TLS protects the connections.
    pub const fn is_tls(self) -> bool {
        matches!(self, Self::Http1Tls | Self::Http2Tls)
    }

    /// Whether requests are multiplexed by HTTP/2.
    pub const fn is_http2(self) -> bool {
        matches!(self, Self::Http2 | Self::Http2Tls)
    }

    /// Returns the scheme of a URL for this protocol.
    pub const fn scheme(self) -> &'static str {
        if self.is_tls() { "https" } else { "http" }
    }

    pub(crate) const fn alpn(self) -> &'static [u8] {
        if self.is_http2() { b"h2" } else { b"http/1.1" }
    }
}
