//! Prerequisites of this machine for runs on real Linux.

use serde_json::{Value, json};

use crate::host;
use crate::namespace::Namespace;

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
        "conex": crate::declare::missing(),
    })
}
