//! HAProxy.

use anyhow::Result;

use super::{Setup, Site, Variant, write};

pub(super) static SETUPS: [Setup; 2] = [
    // The times are those of the configuration that the package installs; without them HAProxy warns.
    setup(Variant::Defaults, |site| {
        configure(site, "timeout connect 5s\n timeout client 50s\n timeout server 50s", "", "")
    }),
    // "HAProxy Configuration Manual", chapters 4.2 (`option httpchk`, `option redispatch`, `retries`, `retry-on`)
    // and 5.2 (`check`, `inter`, `observe`).
    setup(Variant::Manual, |site| {
        let defaults =
            "timeout connect 2s\n timeout client 30s\n timeout server 2s\n timeout queue 2s";
        let backend = "option httpchk GET /health\n option redispatch\n retries 3\n retry-on all-retryable-errors";
        configure(site, defaults, backend, "check inter 500ms fall 2 rise 1")
    }),
];

const fn setup(variant: Variant, configure: fn(&Site) -> Result<Vec<String>>) -> Setup {
    Setup {
        proxy: "haproxy",
        variant,
        program: "/usr/sbin/haproxy",
        packages: &["haproxy"],
        configure,
    }
}

fn configure(site: &Site, defaults: &str, backend: &str, server: &str) -> Result<Vec<String>> {
    let text = format!(
        "defaults
 mode http
 {defaults}
frontend front
 bind 127.0.0.1:{}
 default_backend back
backend back
 {backend}
 server one 127.0.0.1:{} {server}
",
        site.front, site.backend
    );
    let config = write(site, "haproxy.cfg", &text)?;
    Ok(["-db", "-f", &config].map(str::to_owned).to_vec())
}
