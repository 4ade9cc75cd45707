//! nginx.

use anyhow::Result;

use super::{Setup, Site, Variant, write};

pub(super) static SETUPS: [Setup; 5] = [
    setup(Variant::Defaults, |site| configure(site, "", &proxy(site, ""))),
    // nginx.org, "Module ngx_http_upstream_module" (its example, with keepalive) and "Module ngx_http_proxy_module".
    setup(Variant::Manual, |site| {
        let backend = site.backend;
        let upstream = format!(
            "upstream backend {{ server 127.0.0.1:{backend} max_fails=3 fail_timeout=2s; \
             server 127.0.0.1:{backend} max_fails=3 fail_timeout=2s; keepalive 16; }}"
        );
        let location = "location / { proxy_pass http://backend; proxy_http_version 1.1; \
             proxy_set_header Connection \"\"; proxy_connect_timeout 2s; proxy_read_timeout 2s; \
             proxy_next_upstream error timeout invalid_header http_500 http_502 http_503 http_504; }";
        configure(site, &upstream, location)
    }),
    // A named location keeps the method, and a static file is not for a POST.
    setup(Variant::Named("a static error page (405)"), |site| {
        let page = "location @maintenance { root www; rewrite ^ /m.html break; }";
        configure(site, "", &format!("{}{page}", with_error_page(site, "@maintenance")))
    }),
    setup(Variant::Named("an error page that redirects (307)"), |site| {
        let page = "location @maintenance { return 307 /m.html; } location = /m.html { root www; }";
        configure(site, "", &format!("{}{page}", with_error_page(site, "= @maintenance")))
    }),
    setup(Variant::Named("an error page that is denied (403)"), |site| {
        let page = "location @maintenance { deny all; root www; }";
        configure(site, "", &format!("{}{page}", with_error_page(site, "@maintenance")))
    }),
];

const fn setup(variant: Variant, configure: fn(&Site) -> Result<Vec<String>>) -> Setup {
    Setup { proxy: "nginx", variant, program: "/usr/sbin/nginx", packages: &["nginx"], configure }
}

fn with_error_page(site: &Site, page: &str) -> String {
    proxy(site, &format!("proxy_read_timeout 1s; error_page 502 503 504 {page};"))
}

fn proxy(site: &Site, more: &str) -> String {
    format!("location / {{ proxy_pass http://127.0.0.1:{}; {more} }}\n", site.backend)
}

fn configure(site: &Site, http: &str, server: &str) -> Result<Vec<String>> {
    let user = if site.is_root { "user root;" } else { "" };
    let front = site.front;
    let text = format!(
        "daemon off; pid nginx.pid; {user}
events {{ }}
http {{
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    {http}
    server {{
        listen 127.0.0.1:{front};
        {server}
    }}
}}
"
    );
    let config = write(site, "nginx.conf", &text)?;
    write(site, "www/m.html", "<h1>Back soon</h1>\n")?;
    let prefix = site.folder.display().to_string();
    let arguments = ["-p", &prefix, "-c", &config, "-e", "error.log"];
    Ok(arguments.map(str::to_owned).to_vec())
}
