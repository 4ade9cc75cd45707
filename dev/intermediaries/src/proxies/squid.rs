//! Squid as an accelerator.

use anyhow::Result;

use super::{Setup, Site, Variant, write};

pub(super) static SETUPS: [Setup; 3] = [
    setup(Variant::Defaults, |site| configure(site, "", "")),
    // "Squid configuration directive": cache_peer, connect_timeout, read_timeout, retry_on_error.
    setup(Variant::Manual, |site| {
        let more = "connect_timeout 2 seconds\nread_timeout 2 seconds\nretry_on_error on\nforward_max_tries 5\n";
        configure(site, "connect-fail-limit=3 connect-timeout=2", more)
    }),
    setup(Variant::Named("a limit on answers"), |site| {
        configure(site, "", "reply_body_max_size 1 MB\n")
    }),
];

const fn setup(variant: Variant, configure: fn(&Site) -> Result<Vec<String>>) -> Setup {
    Setup { proxy: "squid", variant, program: "/usr/sbin/squid", packages: &["squid"], configure }
}

fn configure(site: &Site, peer: &str, more: &str) -> Result<Vec<String>> {
    let text = format!(
        "http_port 127.0.0.1:{front} accel defaultsite=localhost no-vhost
cache_peer 127.0.0.1 parent {backend} 0 no-query originserver name=backend {peer}
http_access allow all
never_direct allow all
visible_hostname localhost
pid_filename {folder}/squid.pid
access_log none
cache_log {folder}/cache.log
coredump_dir {folder}
netdb_filename none
pinger_enable off
shutdown_lifetime 0 seconds
{more}",
        front = site.front,
        backend = site.backend,
        folder = site.folder.display(),
    );
    let config = write(site, "squid.conf", &text)?;
    // The name keeps its shared memory apart from that of others.
    let name = format!("intermediaries{}", site.front);
    Ok(["-N", "-f", &config, "-n", &name].map(str::to_owned).to_vec())
}
