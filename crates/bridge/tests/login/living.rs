//! Tokens that end while the bridge works.
