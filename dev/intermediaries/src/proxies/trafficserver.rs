//! Apache Traffic Server.

use anyhow::Result;

use super::{Setup, Site, Variant, make_folder, write};

pub(super) static SETUPS: [Setup; 2] = [
    setup(Variant::Defaults, |site| configure(site, "")),
    // "Apache Traffic Server Administrator's Guide", records.config: origin server connect attempts and timeouts.
    setup(Variant::Manual, |site| {
        configure(
            site,
            "CONFIG proxy.config.http.connect_attempts_max_retries INT 3
CONFIG proxy.config.http.connect_attempts_timeout INT 2
CONFIG proxy.config.http.post_connect_attempts_timeout INT 2
CONFIG proxy.config.http.down_server.cache_time INT 2
CONFIG proxy.config.http.transaction_no_activity_timeout_out INT 2
",
        )
    }),
];

const fn setup(variant: Variant, configure: fn(&Site) -> Result<Vec<String>>) -> Setup {
    Setup {
        proxy: "trafficserver",
        variant,
        program: "/usr/bin/traffic_server",
        packages: &["trafficserver"],
        configure,
    }
}

fn configure(site: &Site, more: &str) -> Result<Vec<String>> {
    for name in ["cache", "log", "run"] {
        make_folder(&site.folder.join(name))?;
    }
    let user =
        if site.is_root { "CONFIG proxy.config.admin.user_id STRING trafficserver\n" } else { "" };
    let packaged = std::fs::read_to_string("/etc/trafficserver/records.config")?;
    // Of two lines for one record the last counts.
    let records = format!(
        "{packaged}
CONFIG proxy.config.http.server_ports STRING {}:ip-in=127.0.0.1
CONFIG proxy.config.log.logging_enabled INT 0
CONFIG proxy.config.cache.ram_cache.size INT 33554432
{user}{more}",
        site.front
    );
    write(site, "etc/records.config", &records)?;
    write(site, "etc/remap.config", &format!("map / http://127.0.0.1:{}/\n", site.backend))?;
    let folder = site.folder.display();
    write(site, "etc/storage.config", &format!("{folder}/cache 64M\n"))?;
    for name in ["ip_allow.yaml", "logging.yaml", "plugin.config"] {
        let packaged = std::fs::read_to_string(format!("/etc/trafficserver/{name}"))?;
        write(site, &format!("etc/{name}"), &packaged)?;
    }
    let root = format!(
        "prefix: {folder}
exec_prefix: /usr
bindir: /usr/bin
sbindir: /usr/sbin
sysconfdir: {folder}/etc
datadir: {folder}/cache
includedir: /usr/include
libdir: /usr/lib/trafficserver
libexecdir: /usr/lib/trafficserver/modules
localstatedir: {folder}
runtimedir: {folder}/run
logdir: {folder}/log
cachedir: {folder}/cache
"
    );
    let root = write(site, "runroot.yaml", &root)?;
    Ok(vec![format!("--run-root={root}")])
}
