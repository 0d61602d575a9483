//! Bounds the memory of the WebAssembly: a tab that asks for more is ended by many a phone without a word.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|target| target == "wasm32") {
        println!("cargo::rustc-cdylib-link-arg=--max-memory=1073741824");
    }
}
