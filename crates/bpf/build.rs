//! Compiles the programs in `bpf/` to BPF, with $CLANG or clang.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// Congestion controls, and the ConEx sender.
const PROGRAMS: [&str; 2] = ["pricing", "conex"];

fn main() {
    let variable = |name: &str| PathBuf::from(env::var_os(name).expect("set by cargo"));
    let sources = variable("CARGO_MANIFEST_DIR").join("../../bpf");
    println!("cargo::rerun-if-changed={}", sources.display());
    println!("cargo::rerun-if-env-changed=CLANG");

    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("set by cargo");
    for program in PROGRAMS {
        let compiled = Command::new(&clang)
            .args(["-g", "-O2", "-mcpu=v3", "-target", "bpf", "-Wall", "-Wextra", "-Werror"])
            // libbpf's macros pass on all arguments of a kernel function, used or not.
            .args(["-Wno-unused-parameter", "-isystem"])
            .arg(variable("DEP_BPF_INCLUDE"))
            // Where Debian has the headers of an architecture.
            .args(["-idirafter", &format!("/usr/include/{arch}-linux-gnu"), "-c"])
            .arg(sources.join(format!("{program}.bpf.c")))
            .arg("-o")
            .arg(variable("OUT_DIR").join(format!("{program}.bpf.o")))
            .status();
        match compiled {
            Ok(status) if status.success() => {}
            Ok(_) => panic!("{clang} could not compile bpf/{program}.bpf.c"),
            Err(error) => panic!("{clang}: {error}; on Debian: apt-get install clang"),
        }
    }
}
