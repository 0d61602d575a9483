//! Early stops of runs that exceed a memory limit.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::{MAX_OPEN, MAX_ROWS, Plan, Traffic};

/// Limit that a run exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// Connections open at once.
    Connections,
    /// Calls of one flow in progress at once.
    Calls,
    /// Transfers, each of which is a row of the results.
    Transfers,
}

/// Early stop of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    at: Time,
    excess: Excess,
    /// Key of the scenario file that causes the excess, such as `users.a.traffic.every`.
    key: String,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.excess {
            Excess::Connections => {
                format!("{MAX_OPEN} connections are open at once, beside those of other flows")
            }
            Excess::Calls => format!("{MAX_OPEN} calls are in progress at once"),
            Excess::Transfers => format!("{MAX_ROWS} transfers have a row each"),
        };
        let (key, at_s) = (&self.key, self.at.as_secs());
        write!(
            f,
            "{key}: {what} at {at_s:.3} s, and a run holds no more: let fewer begin, or shorten the run"
        )
    }
}

impl std::error::Error for Stop {}

/// Payload of the unwinding: flow and time.
struct Full {
    flow: u32,
    at: Time,
    excess: Excess,
}

/// Stops the run. It unwinds without a panic, so that nothing is printed and other runs pay nothing: a result would be
/// checked at every event.
#[cold]
pub(crate) fn full(flow: u32, at: Time, excess: Excess) -> ! {
    // Nothing unwinds in WebAssembly: a panic that says why is all that the page can show.
    #[cfg(panic = "abort")]
    panic!("{}", Stop { at, excess, key: format!("flow {flow}") });
    #[cfg(not(panic = "abort"))]
    resume_unwind(Box::new(Full { flow, at, excess }))
}

/// Returns the output of a run, or the reason of its early stop.
pub(crate) fn caught<T>(plan: &Plan, run: impl FnOnce() -> T) -> Result<T, Stop> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| match payload.downcast::<Full>() {
        Ok(full) => Stop { at: full.at, excess: full.excess, key: key(plan, full.flow as usize) },
        Err(panic) => resume_unwind(panic),
    })
}

/// Returns the key of the file that sets how much a flow starts.
fn key(plan: &Plan, flow: usize) -> String {
    let flow = &plan.flows[flow];
    let group = &plan.groups[plan.users[flow.user].group].name;
    let key = match &*flow.traffic {
        Traffic::ShortFlows(own) => match (&own.load, &own.arrivals) {
            (Some(_), _) => ".load",
            (_, Some(_)) => ".arrivals",
            _ => ".every",
        },
        Traffic::Calls(_) => ".every",
        Traffic::Pages(_) => ".objects",
        Traffic::Transfer(_) => ".pause",
        _ => "",
    };
    format!("users.{group}.traffic{key}")
}

#[cfg(test)]
mod tests {
    use tidegate_mechanisms::units::Span;
    use tidegate_scenario::Scenario;

    use super::*;

    #[test]
    fn a_run_without_room_reports_group_key_and_time() {
        let text = "version = 1\nbottleneck.rate = \"1 Mb/s\"\nusers.a.flows = 1\n[users.b]\n\
                    traffic = { kind = \"short-flows\", size = \"1 kB\", every = \"1 s\" }\n";
        let plan = Scenario::parse(text, &[]).expect("is valid").plan();
        assert_eq!(caught(&plan, || 7), Ok(7));
        let at = Time::ZERO + Span::from_millis(1_500);
        let stop = caught(&plan, || full(1, at, Excess::Connections)).expect_err("has no room");
        let reported = stop.to_string();
        assert!(reported.starts_with("users.b.traffic.every: 1000000 connections"), "{reported}");
        assert!(reported.contains("at 1.500 s"), "{reported}");
    }

    #[test]
    #[should_panic(expected = "on purpose")]
    fn a_panic_stays_one() {
        let text = "version = 1\nbottleneck.rate = \"1 Mb/s\"\nusers.a.flows = 1\n";
        let plan = Scenario::parse(text, &[]).expect("is valid").plan();
        drop(caught(&plan, || panic!("on purpose")));
    }
}
