//! Construction of running mechanisms from their plans.

use tidegate_mechanisms::bottleneck::scheduler::{Scheduler, SchedulerParams};
use tidegate_mechanisms::bottleneck::{
    Aqm, AqmParams, Differentiation, DifferentiationParams, Judge,
};
use tidegate_mechanisms::sender::{Controller, SenderParams};
use tidegate_scenario::plan::LinkPlan;

/// Returns the judge of a link; `None` for plain drop-tail.
///
/// # Panics
///
/// If the AQM's parameters do not fit the link, which validation rules out.
pub fn judge(plan: &LinkPlan) -> Option<Judge> {
    if plan.aqm == AqmParams::DropTail && !plan.differentiation.needs_no_aqm() {
        return None;
    }
    let aqm = Aqm::new(plan.aqm.clone(), &plan.place()).expect("the scenario was validated");
    let differentiation = Differentiation::new(plan.differentiation.clone());
    Some(Judge { aqm, differentiation })
}

/// Returns the scheduler of a link whose departures have to be events; `None` for a FIFO link that decides on arrivals
/// alone.
pub fn scheduler(plan: &LinkPlan) -> Option<Scheduler> {
    let place = plan.place();
    if plan.kernel_qdisc.is_some() {
        // The kernel's qdisc decides and serves; this AQM is never called.
        let aqm = Aqm::new(AqmParams::DropTail, &place).expect("it has no parameters");
        let differentiation = Differentiation::new(DifferentiationParams::None);
        return Some(Scheduler::fifo(Judge { aqm, differentiation }, place.capacity));
    }
    if plan.scheduler == SchedulerParams::Fifo {
        // Marks for prices are counted at departure.
        let in_payload = plan.price_encoding.is_some_and(|encoding| encoding.is_in_payload());
        let marks_prices = plan.aqm.asks_price().is_some() && !in_payload;
        let judge = judge(plan).filter(|judge| marks_prices || judge.aqm.sees_departures())?;
        return Some(Scheduler::fifo(judge, place.capacity));
    }
    Scheduler::new(plan.scheduler.clone(), &place)
}

/// Whether a link with departures known in advance writes a price into the payload word of packets.
pub fn signals_price(plan: &LinkPlan) -> bool {
    let in_payload = plan.price_encoding.is_some_and(|encoding| encoding.is_in_payload());
    in_payload && plan.aqm.asks_price().is_some() && !needs_departures(plan)
}

/// Whether the arrival of each packet at the end of a link is an event: a price may be written into it, or the wire changes
/// the order or duplicates.
pub fn needs_arrivals(plan: &LinkPlan) -> bool {
    signals_price(plan) || !plan.keeps_order()
}

/// Whether departures from a link are events.
pub fn needs_departures(plan: &LinkPlan) -> bool {
    scheduler(plan).is_some()
}

/// A congestion controller.
pub fn controller(params: SenderParams) -> Controller {
    Controller::new(params)
}
