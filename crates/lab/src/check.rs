//! Prerequisites of this machine for runs on real Linux.

use serde_json::{Value, json};

use crate::host;
use crate::namespace::Namespace;

/// Whether accurate ECN (RFC 9768) can be switched on.
fn takes_accurate_ecn() -> bool {
    Namespace::create().is_ok_and(|namespace| namespace.set_sysctl("net.ipv4.tcp_ecn", "3").is_ok())
}

/// Returns the findings, and what is missing, each with its remedy.
pub fn report() -> Value {
    let root = rustix::process::geteuid().is_root();
    let netns = root && Namespace::create().is_ok();
    let tun = std::path::Path::new("/dev/net/tun").exists();
    json!({
        "root": root,
        "netns": netns,
        "tun": tun,
        "kernel": crate::kernel::release(),
        "congestion_controls": crate::kernel::congestion_controls(),
        "missing": host::missing(),
        "accurate_ecn": netns && takes_accurate_ecn(),
        "cannot_declare": if root { crate::declare::missing() } else { vec!["root is needed".to_owned()] },
    })
}
