//! Compiles the programs in `bpf/gateway` for the kernel's virtual machine, with $CLANG or clang. Without clang they are
//! empty, and the gateway says what is missing.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

/// The data plane, and what tests and measurements run in the kernel.
const PROGRAMS: [&str; 3] = ["gateway", "arithmetic", "cost"];

fn main() {
    let variable = |name: &str| PathBuf::from(env::var_os(name).expect("set by cargo"));
    let sources = variable("CARGO_MANIFEST_DIR").join("../../bpf/gateway");
    println!("cargo::rerun-if-changed={}", sources.display());
    println!("cargo::rerun-if-env-changed=CLANG");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("set by cargo");
    for program in PROGRAMS {
        let source = sources.join(format!("{program}.bpf.c"));
        let object = variable("OUT_DIR").join(format!("{program}.bpf.o"));
        let compiled = Command::new(&clang)
            .args(["-g", "-O2", "-mcpu=v3", "-target", "bpf", "-Wall", "-Wextra", "-Werror"])
            // Where Debian has the headers of an architecture.
            .args(["-idirafter", &format!("/usr/include/{arch}-linux-gnu"), "-c"])
            .arg(&source)
            .arg("-o")
            .arg(&object)
            .status();
        match compiled {
            Ok(status) if status.success() => {}
            Ok(_) => panic!("{clang} could not compile {}", source.display()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // A file that is not there makes cargo look for clang again.
                println!("cargo::rerun-if-changed=no-clang");
                fs::write(object, []).expect("cargo made the folder");
            }
            Err(error) => panic!("{clang}: {error}"),
        }
    }
}
