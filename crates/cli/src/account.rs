//! Logins of a person: made, kept, listed and given back.

pub(crate) mod auth;
pub(crate) mod login;
pub(crate) mod logout;
