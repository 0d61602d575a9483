//! Lines for the operator, on standard error, and no more than a disk can bear: after a burst, one every ten seconds.

/// Lines that may come at once.
const BURST: u64 = 30;
/// Time in which one more is allowed.
const EACH_NS: u64 = 10_000_000_000;

/// Bounds the lines.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Time at which a burst may begin again.
    full_ns: u64,
    left_out: u64,
}

impl Log {
    /// What to print instead of a line; `None` if it is left out.
    pub fn admit(&mut self, now_ns: u64, line: &str) -> Option<String> {
        let full_ns = self.full_ns.max(now_ns) + EACH_NS;
        if full_ns - now_ns > BURST * EACH_NS {
            self.left_out += 1;
            return None;
        }
        self.full_ns = full_ns;
        Some(match std::mem::take(&mut self.left_out) {
            0 => line.to_owned(),
            count => format!("{line} ({count} lines before it were left out)"),
        })
    }

    /// Prints a line, or leaves it out.
    pub fn say(&mut self, now_ns: u64, line: &str) {
        use std::io::Write;
        if let Some(line) = self.admit(now_ns, line) {
            // A full disk or a closed pipe stops nothing.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_one_line_every_ten_seconds() {
        let mut log = Log::default();
        let passed = (0..1_000).filter(|n| log.admit(1_000 + n, "x").is_some()).count();
        assert_eq!(passed, 30);
        let a_day: Vec<_> =
            (0..86_400).filter_map(|s| log.admit((s + 1) * 1_000_000_000, "x")).collect();
        assert!((8_600..8_700).contains(&a_day.len()), "{}", a_day.len());
        assert!(a_day[0].starts_with("x (9"), "{}", a_day[0]);
        // After a quiet time nothing is left out.
        let later = log.admit(1 << 60, "later").expect("it is quiet");
        assert!(later.starts_with("later"), "{later}");
        assert_eq!(log.admit(1 << 60, "more").as_deref(), Some("more"));
    }
}
