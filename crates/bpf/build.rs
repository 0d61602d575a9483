//! Compiles the programs in `bpf/` to BPF, with $CLANG or clang.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    let variable = |name: &str| PathBuf::from(env::var_os(name).expect("set by cargo"));
    let sources = variable("CARGO_MANIFEST_DIR").join("../../bpf");
    let object = variable("OUT_DIR").join("pricing.bpf.o");
    println!("cargo::rerun-if-changed={}", sources.display());
    println!("cargo::rerun-if-env-changed=CLANG");

    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let compiled = Command::new(&clang)
        .args(["-g", "-O2", "-mcpu=v3", "-target", "bpf", "-Wall", "-Wextra", "-Werror"])
        // libbpf's macros pass on all arguments of a kernel function, used or not.
        .args(["-Wno-unused-parameter", "-isystem"])
        .arg(variable("DEP_BPF_INCLUDE"))
        .arg("-c")
        .arg(sources.join("pricing.bpf.c"))
        .arg("-o")
        .arg(&object)
        .status();
    match compiled {
        Ok(status) if status.success() => {}
        Ok(_) => panic!("{clang} could not compile bpf/pricing.bpf.c"),
        Err(error) => panic!("{clang}: {error}; on Debian: apt-get install clang"),
    }
}
