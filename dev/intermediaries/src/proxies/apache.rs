//! Apache HTTP Server with mod_proxy, and with ModSecurity.

use std::fmt::Write;

use anyhow::Result;

use super::{Setup, Site, Variant, write};

pub(super) static SETUPS: [Setup; 3] = [
    setup(Variant::Defaults, &["apache2"], |site| {
        let pass = format!("ProxyPass / http://127.0.0.1:{}/\n", site.backend);
        configure(site, &[], &pass)
    }),
    // "Apache HTTP Server Documentation", mod_proxy_hcheck (its examples) and mod_proxy (`retry`, `timeout`).
    setup(Variant::Manual, &["apache2"], |site| {
        let pass = format!(
            "<Proxy balancer://backend>
BalancerMember http://127.0.0.1:{} hcmethod=GET hcuri=/health hcinterval=1 retry=1 timeout=2 connectiontimeout=2
</Proxy>
ProxyPass / balancer://backend/
",
            site.backend
        );
        let modules = ["slotmem_shm", "proxy_balancer", "lbmethod_byrequests", "proxy_hcheck"];
        configure(site, &modules, &pass)
    }),
    setup(
        Variant::Named("ModSecurity and its rules"),
        &["apache2", "libapache2-mod-security2", "modsecurity-crs"],
        with_security,
    ),
];

const fn setup(
    variant: Variant,
    packages: &'static [&'static str],
    configure: fn(&Site) -> Result<Vec<String>>,
) -> Setup {
    Setup { proxy: "apache2", variant, program: "/usr/sbin/apache2", packages, configure }
}

/// The packaged rules of ModSecurity and of the Core Rule Set, switched on for answers, too.
fn with_security(site: &Site) -> Result<Vec<String>> {
    let folder = site.folder.display();
    let text = format!(
        "Include /etc/modsecurity/modsecurity.conf-recommended
SecRuleEngine On
SecResponseBodyAccess On
SecResponseBodyMimeType text/plain text/html text/xml application/json
SecDataDir {folder}
SecTmpDir {folder}
SecAuditLog {folder}/audit.log
SecDebugLog {folder}/debug.log
SecUnicodeMapFile /etc/modsecurity/unicode.mapping 20127
Include /usr/share/modsecurity-crs/owasp-crs.load
ProxyPass / http://127.0.0.1:{}/
",
        site.backend
    );
    configure(site, &["unique_id", "security2"], &text)
}

fn configure(site: &Site, modules: &[&str], more: &str) -> Result<Vec<String>> {
    let mut text = format!(
        "ServerRoot {folder}
ServerName localhost
DefaultRuntimeDir {folder}
PidFile {folder}/apache.pid
ErrorLog {folder}/error.log
Listen 127.0.0.1:{front}
",
        folder = site.folder.display(),
        front = site.front
    );
    let always = ["mpm_event", "authz_core", "proxy", "proxy_http"];
    for module in always.iter().chain(modules) {
        writeln!(text, "LoadModule {module}_module /usr/lib/apache2/modules/mod_{module}.so")?;
    }
    // The server refuses to serve as root.
    if site.is_root {
        text.push_str("User www-data\nGroup www-data\n");
    }
    text.push_str(more);
    let config = write(site, "apache.conf", &text)?;
    Ok(["-D", "FOREGROUND", "-f", &config].map(str::to_owned).to_vec())
}
