//! lighttpd with mod_proxy.

use anyhow::Result;

use super::{Setup, Site, Variant, write};

pub(super) static SETUPS: [Setup; 2] = [
    setup(Variant::Defaults, |site| {
        let backend = site.backend;
        configure(site, &format!("(( \"host\" => \"127.0.0.1\", \"port\" => {backend} ))"))
    }),
    // "lighttpd wiki", mod_proxy: load balancing, and the timeouts of a host.
    setup(Variant::Manual, |site| {
        let host = format!(
            "( \"host\" => \"127.0.0.1\", \"port\" => {}, \"connect-timeout\" => 2, \"read-timeout\" => 2, \
             \"write-timeout\" => 2, \"disable-time\" => 1 )",
            site.backend
        );
        configure(site, &format!("( {host}, {host} )"))
    }),
];

const fn setup(variant: Variant, configure: fn(&Site) -> Result<Vec<String>>) -> Setup {
    Setup {
        proxy: "lighttpd",
        variant,
        program: "/usr/sbin/lighttpd",
        packages: &["lighttpd"],
        configure,
    }
}

fn configure(site: &Site, hosts: &str) -> Result<Vec<String>> {
    let folder = site.folder.display();
    let text = format!(
        "server.modules = ( \"mod_proxy\" )
server.document-root = \"{folder}\"
server.upload-dirs = ( \"{folder}\" )
server.errorlog = \"{folder}/error.log\"
server.bind = \"127.0.0.1\"
server.port = {}
proxy.balance = \"round-robin\"
proxy.server = ( \"\" => {hosts} )
",
        site.front
    );
    let config = write(site, "lighttpd.conf", &text)?;
    Ok(["-D", "-f", &config].map(str::to_owned).to_vec())
}
