//! Caddy.

use anyhow::Result;

use super::{Setup, Site, Variant, write};

pub(super) static SETUPS: [Setup; 2] = [
    setup(Variant::Defaults, |site| configure(site, "")),
    // "Caddy Documentation", reverse_proxy: load balancing, active and passive health checks, and the http
    // transport.
    setup(Variant::Manual, |site| {
        configure(
            site,
            "{
        lb_try_duration 3s
        lb_try_interval 250ms
        health_uri /health
        health_interval 500ms
        health_timeout 1s
        fail_duration 2s
        max_fails 3
        transport http {
            dial_timeout 2s
            response_header_timeout 2s
        }
    }",
        )
    }),
];

const fn setup(variant: Variant, configure: fn(&Site) -> Result<Vec<String>>) -> Setup {
    Setup { proxy: "caddy", variant, program: "/usr/bin/caddy", packages: &["caddy"], configure }
}

fn configure(site: &Site, proxy: &str) -> Result<Vec<String>> {
    let text = format!(
        "{{
    admin off
    auto_https off
}}
http://:{} {{
    bind 127.0.0.1
    reverse_proxy 127.0.0.1:{} {proxy}
}}
",
        site.front, site.backend
    );
    let config = write(site, "Caddyfile", &text)?;
    let arguments = ["run", "--config", &config, "--adapter", "caddyfile"];
    Ok(arguments.map(str::to_owned).to_vec())
}
