//! Varnish Cache.

use anyhow::Result;

use super::{Setup, Site, Variant, write};

pub(super) static SETUPS: [Setup; 2] = [
    setup(Variant::Defaults, |site| configure(site, "", "")),
    // "Varnish User's Guide", chapters "Backend servers: health checks" and "Advanced topics: retrying".
    setup(Variant::Manual, |site| {
        let probe = "
            .connect_timeout = 1s; .first_byte_timeout = 2s; .between_bytes_timeout = 2s;
            .probe = { .url = \"/health\"; .timeout = 1s; .interval = 1s; .window = 5; .threshold = 3; .initial = 3; }";
        let retries = "
            sub vcl_backend_response {
                if (beresp.status >= 500 && bereq.retries < 2) { return (retry); }
            }";
        configure(site, probe, retries)
    }),
];

const fn setup(variant: Variant, configure: fn(&Site) -> Result<Vec<String>>) -> Setup {
    Setup {
        proxy: "varnish",
        variant,
        program: "/usr/sbin/varnishd",
        packages: &["varnish"],
        configure,
    }
}

fn configure(site: &Site, backend: &str, more: &str) -> Result<Vec<String>> {
    let port = site.backend;
    let text = format!(
        "vcl 4.1;\nbackend default {{ .host = \"127.0.0.1\"; .port = \"{port}\";{backend} }}\n{more}\n"
    );
    let config = write(site, "default.vcl", &text)?;
    let work = site.folder.join("work").display().to_string();
    let listen = format!("127.0.0.1:{}", site.front);
    let arguments =
        ["-F", "-j", "none", "-n", &work, "-f", &config, "-a", &listen, "-s", "malloc,32m"];
    Ok(arguments.map(str::to_owned).to_vec())
}
