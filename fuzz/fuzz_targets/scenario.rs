//! Scenario files: for any text, the answer is a scenario with a plan, or a short list of errors.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_fuzz::scenario::survives;

fuzz_target!(|text: &str| survives(text, &[]));
