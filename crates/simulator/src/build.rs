//! From planned mechanisms to running ones.

use tidegate_mechanisms::bottleneck::scheduler::{Place, Room, Scheduler, SchedulerParams};
use tidegate_mechanisms::bottleneck::{
    AdaptiveRed, Aqm, Csfq, Differentiation, Judge, Pie, PiecewiseLinear, Red,
};
use tidegate_mechanisms::sender::{
    Controller, Cubic, CubicParams, Dctcp, LinuxCubic, Prague, PragueParams, Reno, RenoParams,
};
use tidegate_scenario::plan::{AqmPlan, Buffer, ControllerPlan, CubicGrowthPlan, LinkPlan};

/// The judge of a link; `None` where nothing but the buffer decides.
///
/// # Panics
/// If the points of a piecewise-linear function do not ascend, which validation rules out.
pub fn judge(plan: &LinkPlan) -> Option<Judge> {
    let aqm = match &plan.aqm {
        AqmPlan::DropTail if plan.differentiation.needs_no_aqm() => Aqm::DropTail,
        AqmPlan::DropTail => return None,
        // It acts at departures: the scheduler below has it.
        AqmPlan::Codel(_) => return None,
        AqmPlan::PiecewiseLinear(params) => {
            Aqm::PiecewiseLinear(PiecewiseLinear::new(params).expect("the scenario was validated"))
        }
        AqmPlan::Red(params) => Aqm::Red(Red::new(params.clone())),
        AqmPlan::AdaptiveRed(params) => Aqm::AdaptiveRed(AdaptiveRed::new(params.clone())),
        AqmPlan::Csfq(params) => Aqm::Csfq(Csfq::new(*params)),
        AqmPlan::Pie(params) => Aqm::Pie(Pie::new(*params)),
    };
    let differentiation = Differentiation::new(plan.differentiation);
    Some(Judge { aqm, differentiation })
}

/// The scheduler of a link that needs departures to be events; `None` for one that serves first
/// come, first served and decides on arrivals alone.
pub fn scheduler(plan: &LinkPlan) -> Option<Scheduler> {
    let room = match plan.buffer {
        Buffer::Packets(packets) => Room { packets, bytes: u64::MAX },
        Buffer::Bytes(bytes) => Room { packets: u32::MAX, bytes: bytes.get() },
    };
    if plan.scheduler == SchedulerParams::Fifo {
        if let AqmPlan::Codel(params) = plan.aqm {
            return Some(Scheduler::codel(params, room));
        }
        let judge = judge(plan).filter(|judge| judge.aqm.needs_departures())?;
        return Some(Scheduler::fifo(judge, room));
    }
    Scheduler::new(plan.scheduler, &Place { room, rate: plan.rate })
}

/// Whether departures from a link are events.
pub fn needs_departures(plan: &LinkPlan) -> bool {
    scheduler(plan).is_some()
}

/// A congestion controller.
///
/// # Panics
/// If the simulator has none such, which whoever starts a run rules out by
/// [`tidegate_scenario::Scenario::simulator_lacks`].
pub fn controller(plan: ControllerPlan) -> Controller {
    match plan {
        ControllerPlan::Reno { whole_segments, byte_counting } => {
            Controller::Reno(Reno::new(reno(whole_segments, byte_counting)))
        }
        ControllerPlan::Dctcp { whole_segments, byte_counting } => {
            Controller::Dctcp(Dctcp::new(reno(whole_segments, byte_counting)))
        }
        ControllerPlan::Prague { reference_rtt } => {
            Controller::Prague(Prague::new(PragueParams { reference_rtt }))
        }
        ControllerPlan::Cubic { hystart, growth } => match growth {
            CubicGrowthPlan::Rfc9438 => {
                Controller::Cubic(Cubic::new(CubicParams { exit: hystart }))
            }
            CubicGrowthPlan::Linux => Controller::LinuxCubic(LinuxCubic::new(hystart)),
        },
        ControllerPlan::Bbr | ControllerPlan::Sbrm { .. } => {
            panic!("the simulator has no {plan:?}: ask simulator_lacks() first")
        }
    }
}

fn reno(whole_segments: bool, appropriate_byte_counting: bool) -> RenoParams {
    RenoParams { whole_segments, appropriate_byte_counting }
}
