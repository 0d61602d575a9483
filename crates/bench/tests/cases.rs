//! The cases of `bench/run.py` start: each runs for a few simulated milliseconds.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

#[test]
fn each_case_of_the_benchmark_starts() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/run.py");
    let Ok(listed) = Command::new("python3").arg(script).arg("--list").output() else {
        eprintln!("skipped: python3 was not found, which lists the cases");
        return;
    };
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let cases: BTreeMap<String, Vec<String>> =
        serde_json::from_slice(&listed.stdout).expect("the cases are JSON");
    assert!(cases.contains_key("S1") && cases.contains_key("S4-linux"), "{cases:?}");
    for (name, arguments) in cases {
        let run = Command::new(env!("CARGO_BIN_EXE_tidegate-bench"))
            .args(arguments)
            .output()
            .expect("the program was built for this test");
        assert!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr));
        let result: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON");
        assert!(result["events"].as_u64() > Some(0), "{name}: {result}");
    }
}
