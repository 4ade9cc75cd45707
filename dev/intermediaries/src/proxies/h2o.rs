//! H2O.

use anyhow::Result;

use super::{Setup, Site, Variant, write};

pub(super) static SETUPS: [Setup; 2] = [
    setup(Variant::Defaults, |site| configure(site, "")),
    // "H2O documentation", Proxy Directives; it has no health checks, and no retries to switch on.
    setup(Variant::Manual, |site| {
        configure(site, "proxy.timeout.io: 2000\nproxy.timeout.keepalive: 2000\n")
    }),
];

const fn setup(variant: Variant, configure: fn(&Site) -> Result<Vec<String>>) -> Setup {
    Setup { proxy: "h2o", variant, program: "/usr/bin/h2o", packages: &["h2o"], configure }
}

fn configure(site: &Site, more: &str) -> Result<Vec<String>> {
    let user = if site.is_root { "user: root\n" } else { "" };
    let text = format!(
        "{user}listen:
  host: 127.0.0.1
  port: {}
num-threads: 2
{more}hosts:
  default:
    paths:
      /:
        proxy.reverse.url: http://127.0.0.1:{}/
",
        site.front, site.backend
    );
    let config = write(site, "h2o.conf", &text)?;
    Ok(["-m", "worker", "-c", &config].map(str::to_owned).to_vec())
}
