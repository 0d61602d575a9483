//! Plan of a scenario for Python: every default filled in, every quantity in SI units, with the unit in its name.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tidegate_mechanisms::parameters::{Choice, Kind, ParameterValue, Parameters};
use tidegate_mechanisms::registry::Parameter;
use tidegate_mechanisms::units::{QueueLength, RateOrOutage, Span, Spans, Time, TokenRate, Tokens};
use tidegate_scenario::plan::{FlowPlan, LinkMechanisms, LinkPlan, Plan, TcpPlan};

/// Returns the number nearest to the file's text: 60 s are 60.0, which a product with 1e-9 is not.
pub fn in_seconds(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e9
}

fn at_second(time: Time) -> f64 {
    in_seconds(time.since(Time::ZERO))
}

/// Returns the plan as nested dictionaries.
pub fn to_python<'py>(py: Python<'py>, plan: &Plan) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("warm_up_s", in_seconds(plan.warm_up))?;
    all.set_item("duration_s", in_seconds(plan.duration))?;
    all.set_item("intervals", plan.intervals)?;
    all.set_item("drain_limit_s", in_seconds(plan.drain_limit))?;
    all.set_item("sample_interval_s", plan.sample_interval.map(in_seconds))?;
    all.set_item("links", list(py, plan.links.iter().map(|own| link(py, own)))?)?;
    let stages = plan.stages.iter().map(|stage| {
        let own = choice(py, &stage.params)?;
        own.set_item("name", &stage.name)?;
        Ok(own)
    });
    all.set_item("stages", list(py, stages)?)?;
    let groups = plan.groups.iter().map(|group| group.name.as_str());
    all.set_item("groups", groups.collect::<Vec<_>>())?;
    let users = plan.users.iter().map(|user| user.group);
    all.set_item("user_groups", users.collect::<Vec<_>>())?;
    let customers = plan.users.iter().map(|user| user.customer);
    all.set_item("user_customers", customers.collect::<Vec<_>>())?;
    let mut senders = Senders::default();
    all.set_item("flows", list(py, plan.flows.iter().map(|own| flow(py, own, &mut senders)))?)?;
    Ok(all)
}

fn list<'py>(
    py: Python<'py>,
    items: impl Iterator<Item = PyResult<Bound<'py, PyDict>>>,
) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)
}

fn link<'py>(py: Python<'py>, plan: &LinkPlan) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("name", plan.name.to_string())?;
    all.set_item("ends", [plan.ends.0, plan.ends.1])?;
    all.set_item("rate_bps", plan.rate.as_bps())?;
    all.set_item("delay_s", in_seconds(plan.delay))?;
    // A trace itself may have a million steps, and the scenario has it.
    let repeats = plan.rate_trace.as_ref().map(|own| own.repeat);
    all.set_item("rate_trace_repeats", repeats)?;
    let repeats = plan.delay_trace.as_ref().map(|own| own.repeat);
    all.set_item("delay_trace_repeats", repeats)?;
    set(&all, "buffer", Kind::QueueLength, ParameterValue::QueueLength(plan.buffer))?;
    all.set_item("monitored", plan.monitored)?;
    all.update(parameters(py, LinkMechanisms::ALL, plan.declared.to_values())?.as_mapping())?;
    Ok(all)
}

/// Objects shared by flows are shared in Python too: a group's TCP options, by their address.
#[derive(Default)]
struct Senders<'py>(HashMap<*const TcpPlan, Bound<'py, PyDict>>);

impl<'py> Senders<'py> {
    fn options(&mut self, py: Python<'py>, tcp: &Arc<TcpPlan>) -> PyResult<Bound<'py, PyDict>> {
        if let Some(known) = self.0.get(&Arc::as_ptr(tcp)) {
            return Ok(known.clone());
        }
        let options = parameters(py, TcpPlan::ALL, tcp.to_values())?;
        self.0.insert(Arc::as_ptr(tcp), options.clone());
        Ok(options)
    }
}

fn flow<'py>(
    py: Python<'py>,
    plan: &FlowPlan,
    senders: &mut Senders<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("user", plan.user)?;
    all.set_item("forward", &plan.forward[..])?;
    all.set_item("reverse", &plan.reverse[..])?;
    let attachments = plan.attachments.iter().map(|attachment| {
        let own = PyDict::new(py);
        own.set_item("back", attachment.back)?;
        own.set_item("hop", attachment.hop)?;
        own.set_item("replicas", &attachment.replicas)?;
        Ok(own)
    });
    all.set_item("attachments", list(py, attachments)?)?;
    all.set_item("packet_size_bytes", plan.packet_size.get())?;
    all.set_item("start_from_s", at_second(plan.start.from))?;
    all.set_item("start_to_s", at_second(plan.start.to))?;
    all.set_item("start_spread", plan.start.spread.word())?;
    all.set_item("stop_from_s", plan.stop.map(|stop| at_second(stop.from)))?;
    all.set_item("stop_to_s", plan.stop.map(|stop| at_second(stop.to)))?;
    all.set_item("host_jitter_s", in_seconds(plan.jitter))?;
    all.set_item("traffic", choice(py, &*plan.traffic)?)?;
    let tcp = plan.tcp.as_ref().map(|tcp| senders.options(py, tcp));
    all.set_item("tcp", tcp.transpose()?)?;
    Ok(all)
}

/// Returns a mechanism: its kind, and its parameters.
fn choice<'py, C: Choice>(py: Python<'py>, choice: &C) -> PyResult<Bound<'py, PyDict>> {
    let (place, values) = choice.to_values();
    of_kind(py, &C::KINDS[place], values)
}

fn of_kind<'py>(
    py: Python<'py>,
    (name, _, declared): &(&str, &str, &[Parameter]),
    values: Vec<ParameterValue>,
) -> PyResult<Bound<'py, PyDict>> {
    let all = parameters(py, declared, values)?;
    all.set_item("kind", name)?;
    Ok(all)
}

fn parameters<'py>(
    py: Python<'py>,
    declared: &[Parameter],
    values: Vec<ParameterValue>,
) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for (parameter, value) in declared.iter().zip(values) {
        set(&all, parameter.name, parameter.kind, value)?;
    }
    Ok(all)
}

/// The kind of a value that is no table.
fn plain_kind(kind: Kind) -> Kind {
    match kind {
        Kind::PlainOrTable { plain, .. } => *plain,
        kind => kind,
    }
}

/// Sets a value in SI units under its name with the unit; what is not set is `None`.
fn set(all: &Bound<'_, PyDict>, name: &str, kind: Kind, value: ParameterValue) -> PyResult<()> {
    let py = all.py();
    let unit = match plain_kind(kind) {
        Kind::Rate | Kind::RateOrOutage => "_bps",
        Kind::Span | Kind::Spans | Kind::OrOff => "_s",
        Kind::Bytes => "_bytes",
        Kind::QueueLength | Kind::Buffer | Kind::Tokens | Kind::TokenRate => {
            return set_in_packets_or_bytes(all, name, kind, value);
        }
        _ => "",
    };
    let value = match (value, kind) {
        (ParameterValue::Rate(rate) | ParameterValue::RateOrOutage(RateOrOutage(rate)), _) => {
            rate.as_bps().into_py_any(py)?
        }
        (ParameterValue::Span(span), _) => in_seconds(span).into_py_any(py)?,
        (ParameterValue::Spans(Spans(spans)), _) => {
            spans.into_iter().map(in_seconds).collect::<Vec<_>>().into_py_any(py)?
        }
        (ParameterValue::OrOff(time), _) => time.span().map(in_seconds).into_py_any(py)?,
        (ParameterValue::Bytes(bytes), _) => bytes.get().into_py_any(py)?,
        (ParameterValue::Probability(probability), _) => probability.0.into_py_any(py)?,
        (ParameterValue::Share(share), _) => share.0.into_py_any(py)?,
        (ParameterValue::Memory(memory), _) => memory.0.into_py_any(py)?,
        (ParameterValue::Factor(factor), _) => factor.0.into_py_any(py)?,
        (ParameterValue::Step(step), _) => step.0.into_py_any(py)?,
        (ParameterValue::Demand(demand), _) => demand.0.into_py_any(py)?,
        (ParameterValue::Word(word), _) => word.into_py_any(py)?,
        (ParameterValue::Count(count), _) => count.into_py_any(py)?,
        (ParameterValue::Flag(flag), _) => flag.into_py_any(py)?,
        (ParameterValue::Text(text), _) => text.into_py_any(py)?,
        (ParameterValue::Points(points), _) => points.0.into_py_any(py)?,
        (ParameterValue::Choice(place, values), Kind::Choice(offer)) => {
            of_kind(py, &offer.kinds[place], values)?.into_py_any(py)?
        }
        (ParameterValue::List(all), Kind::List(offer)) => {
            let each = all.into_iter().map(|one| match one {
                ParameterValue::Choice(place, values) => of_kind(py, &offer.kinds[place], values),
                other => unreachable!("{other:?} is no mechanism"),
            });
            list(py, each)?.into_py_any(py)?
        }
        (ParameterValue::Tables(all), Kind::Tables(form)) => {
            let each = all.into_iter().map(|values| parameters(py, form.parameters, values));
            list(py, each)?.into_py_any(py)?
        }
        (ParameterValue::Nested(values), Kind::Nested(form)) => {
            parameters(py, form.parameters, values)?.into_py_any(py)?
        }
        (
            value @ (ParameterValue::Nested(_) | ParameterValue::Choice(..)),
            Kind::PlainOrTable { table, .. },
        ) => {
            return set(all, name, *table, value);
        }
        (
            ParameterValue::Unset
            | ParameterValue::Choice(..)
            | ParameterValue::List(_)
            | ParameterValue::Tables(_)
            | ParameterValue::Nested(_),
            _,
        ) => py.None(),
        (
            ParameterValue::QueueLength(_)
            | ParameterValue::Buffer(_)
            | ParameterValue::Tokens(_)
            | ParameterValue::TokenRate(_),
            _,
        ) => {
            unreachable!("is set above")
        }
    };
    all.set_item(format!("{name}{unit}"), value)
}

/// Sets a queue length, or the contents of a token bucket, in packets or in bytes; the other is `None`.
fn set_in_packets_or_bytes(
    all: &Bound<'_, PyDict>,
    name: &str,
    kind: Kind,
    value: ParameterValue,
) -> PyResult<()> {
    let py = all.py();
    let thousandths = |n: u64| (n as f64 / 1e3).into_py_any(py);
    let (packets, other) = match value {
        ParameterValue::QueueLength(QueueLength::Packets(packets)) => {
            (packets.into_py_any(py)?, py.None())
        }
        ParameterValue::QueueLength(QueueLength::Bytes(bytes))
        | ParameterValue::Tokens(Tokens::Bytes(bytes)) => (py.None(), bytes.get().into_py_any(py)?),
        ParameterValue::Tokens(Tokens::Packets { thousandths: n }) => (thousandths(n)?, py.None()),
        ParameterValue::TokenRate(TokenRate::Packets { thousandths_per_sec: n }) => {
            (thousandths(n)?, py.None())
        }
        ParameterValue::TokenRate(TokenRate::Bits(rate)) => {
            (py.None(), rate.as_bps().into_py_any(py)?)
        }
        _ => (py.None(), py.None()),
    };
    let [in_packets, in_other] = match kind {
        Kind::TokenRate => ["packets_per_s", "bps"],
        _ => ["packets", "bytes"],
    };
    all.set_item(format!("{name}_{in_packets}"), packets)?;
    all.set_item(format!("{name}_{in_other}"), other)
}
