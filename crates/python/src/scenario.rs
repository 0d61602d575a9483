//! A validated scenario, ready to run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tidegate_bench::drive;
use tidegate_scenario::plan::Plan;
use tidegate_scenario::{Diagnostic, Scenario as Parsed};

use crate::capture::{self, Captured, Failure, Target};
use crate::plan::{self, in_seconds};
use crate::progress::Reporter;
use crate::{formulas, tables};

pyo3::import_exception!(tidegate.errors, ScenarioError);
pyo3::import_exception!(tidegate.errors, RunError);

/// A validated scenario: one point of a parameter space, or a whole sweep.
#[pyclass(frozen, module = "tidegate")]
pub struct Scenario {
    parsed: Parsed,
    pub plan: Plan,
}

#[pymethods]
impl Scenario {
    /// Reads a scenario file's text. `overrides` are dotted keys with TOML values (bare words are taken as text) that
    /// override the file; `name` is for a file without one. Raises `ScenarioError` with all errors.
    #[staticmethod]
    #[pyo3(signature = (text, overrides = Vec::new(), name = None))]
    fn parse(text: &str, overrides: Vec<(String, String)>, name: Option<&str>) -> PyResult<Self> {
        Self::of(Parsed::parse(text, &overrides), name)
    }

    /// Reads a variant of a file, or with no variant the file as it stands, and a point of its `[sweep]` if `overrides`
    /// include the point's: as `parse`, but without the other variants and the sweep, which it does not check.
    #[staticmethod]
    #[pyo3(signature = (text, overrides = Vec::new(), name = None, variant = None))]
    fn parse_variant(
        text: &str,
        overrides: Vec<(String, String)>,
        name: Option<&str>,
        variant: Option<&str>,
    ) -> PyResult<Self> {
        Self::of(Parsed::parse_variant(text, &overrides, variant), name)
    }

    /// Returns the data files named by a text and its overrides: the key, the name, and whether the text has it.
    #[staticmethod]
    fn data_files(text: &str, overrides: Vec<(String, String)>) -> Vec<(String, String, bool)> {
        let files = Parsed::data_files(text, &overrides).into_iter();
        files.map(|file| (file.key, file.name, file.by_file)).collect()
    }

    /// Returns the features of the scenario that the simulator does not have.
    fn simulator_lacks(&self) -> Vec<Row> {
        self.parsed.simulator_lacks().iter().map(row).collect()
    }

    /// Returns the lints: valid, but probably not intended.
    fn warnings(&self) -> Vec<Row> {
        self.parsed.warnings().iter().map(row).collect()
    }

    /// Raises `ScenarioError` if the scenario has features that the simulator does not have.
    pub fn check_simulator(&self) -> PyResult<()> {
        match self.parsed.simulator_lacks() {
            [] => Ok(()),
            issues => Err(refused(issues)),
        }
    }

    /// Runs it once, with the interpreter's lock released. Returns table name -> column name -> values. `report` is called
    /// at most ten times a second with how far the run is: simulated time in seconds, share of the run, and hops of
    /// packets.
    #[pyo3(signature = (seed, report = None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        report: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.check_simulator()?;
        let run = || match &report {
            None => tidegate_simulator::try_run(&self.plan, seed),
            Some(report) => {
                let mut reporter = Reporter::new(report);
                let mut tell = |at| reporter.report(at);
                tidegate_simulator::run_reporting(&self.plan, seed, &mut tell)
            }
        };
        let output = py
            .detach(|| catch_unwind(AssertUnwindSafe(run)))
            .map_err(|panic| RunError::new_err((seed, panic_message(panic.as_ref()))))?
            .map_err(|stop| RunError::new_err((seed, stop.to_string())))?;
        tables::to_python(py, output)
    }

    /// Names of the links.
    fn links(&self) -> Vec<String> {
        self.plan.links.iter().map(|link| link.name.to_string()).collect()
    }

    /// Runs it once, and writes the first `most` packets that leave each of these links into a capture file: (link,
    /// path). Returns the digest, for each file the packets written and those beyond the limit, and how many packets
    /// were left out because they were in a tunnel. Raises `OSError` with the path if a file cannot be written.
    fn capture(
        &self,
        py: Python<'_>,
        seed: u64,
        files: Vec<(String, PathBuf)>,
        most: u64,
    ) -> PyResult<CaptureRow> {
        self.check_simulator()?;
        let target = |(name, path): (String, PathBuf)| {
            let link = self.plan.links.iter().position(|link| link.name == name.as_str());
            let link = link.ok_or_else(|| PyValueError::new_err(format!("no link {name}")))?;
            Ok(Target { link, path })
        };
        let targets = files.into_iter().map(target).collect::<PyResult<Vec<_>>>()?;
        let run = || capture::capture(&self.plan, seed, targets, most);
        let Captured { digest, written, beyond, in_tunnels } = py
            .detach(|| catch_unwind(AssertUnwindSafe(run)))
            .map_err(|panic| RunError::new_err((seed, panic_message(panic.as_ref()))))?
            .map_err(|failure| match failure {
                Failure::Run(message) => RunError::new_err((seed, message)),
                Failure::File(path, error) => {
                    PyOSError::new_err((error.raw_os_error(), error.to_string(), path))
                }
            })?;
        Ok((digest, written.into_iter().zip(beyond).collect(), in_tunnels))
    }

    /// Offers `packets` full packets at `load` times the rate of the first bottleneck to the network
    /// without hosts, with the interpreter's lock released, and returns how many came through: for
    /// measuring what a packet costs. All flows take turns at random.
    fn drive(&self, py: Python<'_>, packets: u64, load: f64) -> PyResult<u64> {
        if !(load > 0.0 && load.is_finite()) {
            return Err(PyValueError::new_err(format!("load: {load} is not above 0")));
        }
        Ok(py.detach(|| drive::drive(&self.plan, packets, load)))
    }

    /// Returns the memory of the activity meters in front of the users, in bytes.
    fn edge_state_bytes(&self) -> usize {
        drive::edge_state_bytes(&self.plan)
    }

    /// Returns the activities that the first meter gives to full packets sent at these times (s).
    fn meter_activities(&self, times_s: Vec<f64>) -> PyResult<Vec<f64>> {
        formulas::meter_activities(&self.plan, &times_s).map_err(PyValueError::new_err)
    }

    /// Returns the number of consecutive full packets that AFCP forwards, from a full bucket, if the AQM has
    /// probability `p` and drops all of them or none; at most `limit`.
    fn afcp_forwarded(&self, p: f64, dropped: bool, limit: u64) -> PyResult<u64> {
        formulas::afcp_forwarded(&self.plan, p, dropped, limit).map_err(PyValueError::new_err)
    }

    /// Returns the factor of RED's thresholds in AICP-a if the bucket is full to the share `fill`.
    fn aicp_a_stretch(&self, fill: f64) -> PyResult<f64> {
        formulas::aicp_a_stretch(&self.plan, fill).map_err(PyValueError::new_err)
    }

    /// Returns the window (packets) of the first flow's sender after `acks` ACKs of one packet each, with a mark or
    /// without, from `cwnd` on.
    fn window_after(&self, cwnd: f64, acks: f64, marked: f64, rtt_s: f64) -> PyResult<f64> {
        formulas::window_after(&self.plan, cwnd, acks as u32, marked > 0.0, rtt_s)
            .map_err(PyValueError::new_err)
    }

    /// Returns the price of a path as a sender of datagrams computes it from the packets sent, received and marked.
    #[staticmethod]
    fn path_price(sent: f64, received: f64, marked: f64) -> f64 {
        tidegate_simulator::path_price(sent as u64, received as u64, marked as u64)
    }

    /// Returns AICP-b's drop probability if the bucket is full to the share `fill` and RED has `p`.
    fn aicp_b_probability(&self, fill: f64, p: f64) -> PyResult<f64> {
        formulas::aicp_b_probability(&self.plan, fill, p).map_err(PyValueError::new_err)
    }

    /// Returns RED's probability at these average queues, in the unit of its thresholds.
    fn red_probabilities(&self, averages: Vec<f64>) -> PyResult<Vec<f64>> {
        formulas::red_probabilities(&self.plan, &averages).map_err(PyValueError::new_err)
    }

    /// Returns the first ConEx policer's drop probability at these fills, in multiples of its depth.
    fn conex_policer_probabilities(&self, fills: Vec<f64>) -> PyResult<Vec<f64>> {
        formulas::conex_policer_probabilities(&self.plan, &fills).map_err(PyValueError::new_err)
    }

    /// Returns the rate that the first re-ECN policer allows [B/s] for full packets of which a share `p` is positive.
    fn re_ecn_allowed(&self, p: f64) -> PyResult<f64> {
        formulas::re_ecn_allowed(&self.plan, p).map_err(PyValueError::new_err)
    }

    /// Returns the change in bytes of the first re-ECN policer's fill by a full packet without declaration that arrives
    /// `elapsed_s` after the last, if a share `p` is positive.
    fn re_ecn_change(&self, elapsed_s: f64, p: f64) -> PyResult<f64> {
        formulas::re_ecn_change(&self.plan, elapsed_s, p, false).map_err(PyValueError::new_err)
    }

    /// Returns the same change by a positive packet.
    fn re_ecn_change_by_positive(&self, elapsed_s: f64, p: f64) -> PyResult<f64> {
        formulas::re_ecn_change(&self.plan, elapsed_s, p, true).map_err(PyValueError::new_err)
    }

    /// Returns the share of consecutive packets without declarations that a re-ECN dropper drops, from a flow with this
    /// balance, in packets.
    #[staticmethod]
    fn re_ecn_dropped_share(balance: f64, packets: f64) -> f64 {
        formulas::re_ecn_dropped_share(balance, packets)
    }

    /// Returns the overrides of each point of `[sweep]`, in the order of the file; empty without a sweep.
    fn points(&self) -> Vec<Vec<(String, String)>> {
        self.parsed.points()
    }

    /// Returns the names of `[variants]`, in the order of the file, and whether each is the file as it stands.
    fn variants(&self) -> Vec<(String, bool)> {
        let with = |name: &str| (name.to_owned(), self.parsed.is_unchanged(name));
        self.parsed.variants().map(with).collect()
    }

    /// Returns the scenario with every default filled in.
    fn to_toml(&self) -> String {
        self.parsed.to_toml()
    }

    #[getter]
    fn name(&self) -> &str {
        self.parsed.name().unwrap_or("scenario")
    }

    #[getter]
    fn description(&self) -> Option<&str> {
        self.parsed.description()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.parsed.seed()
    }

    #[getter]
    fn replications(&self) -> u64 {
        self.parsed.replications()
    }

    /// Returns the plan: every default filled in, in SI units.
    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        plan::to_python(py, &self.plan)
    }

    /// Returns the names of the user groups, in the order of the file.
    #[getter]
    fn groups(&self) -> Vec<&str> {
        self.plan.groups.iter().map(|group| group.name.as_str()).collect()
    }

    /// Returns the group of each user, as an index into `groups`.
    #[getter]
    fn user_groups(&self) -> Vec<usize> {
        self.plan.users.iter().map(|user| user.group).collect()
    }

    /// Returns name, rate in bit/s and propagation delay in seconds of each bottleneck.
    #[getter]
    fn bottlenecks(&self) -> Vec<(String, u64, f64)> {
        let links = self.plan.links.iter().filter(|link| link.monitored);
        links
            .map(|link| (link.name.to_string(), link.rate.as_bps(), in_seconds(link.delay)))
            .collect()
    }

    /// Returns the measured time in seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        in_seconds(self.plan.duration)
    }

    /// Returns the warm-up in seconds.
    #[getter]
    fn warm_up_s(&self) -> f64 {
        in_seconds(self.plan.warm_up)
    }
}

/// All errors as one Python exception.
impl Scenario {
    fn of(parsed: Result<Parsed, Vec<Diagnostic>>, name: Option<&str>) -> PyResult<Self> {
        let parsed = parsed.map_err(|issues| refused(&issues))?;
        let parsed = match name {
            Some(name) => parsed.or_named(name),
            None => parsed,
        };
        let plan = parsed.plan();
        Ok(Scenario { parsed, plan })
    }
}

fn refused(issues: &[Diagnostic]) -> PyErr {
    let rows: Vec<Row> = issues.iter().map(row).collect();
    ScenarioError::new_err((rows,))
}

/// Digest, for each file the packets written and those beyond the limit, and the packets left out in tunnels.
type CaptureRow = (String, Vec<(u64, u64)>, u64);

/// Line, column, key, message, suggestion, and all of it in one line.
type Row = (Option<usize>, Option<usize>, String, String, Option<String>, String);

fn row(issue: &Diagnostic) -> Row {
    let Diagnostic { line, column, key, message, suggestion } = issue.clone();
    (line, column, key, message, suggestion, issue.to_string())
}

/// Returns the message of a panic. The simulator panics if one of its invariants is broken.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "the engine stopped for an unknown reason".to_owned())
}
