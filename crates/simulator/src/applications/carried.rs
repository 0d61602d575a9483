//! Runs applications over datagrams ([`OverDatagrams`]) on the simulated system.

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::FlowPlan;

use super::carrier::OverDatagrams;
use super::{Application, Datagram, End, System};

impl<A: OverDatagrams> Application for A {
    const NAME: &'static str = <A as OverDatagrams>::NAME;

    fn of(flow: &FlowPlan) -> Option<Self> {
        <A as OverDatagrams>::of(flow)
    }

    fn listens(&self) -> bool {
        self.listens()
    }

    fn start(&mut self, system: &mut System) {
        self.start(system);
    }

    fn wake(&mut self, system: &mut System) {
        self.wake(system);
    }

    fn on_datagram(&mut self, at: End, datagram: Datagram, system: &mut System) {
        self.on_datagram(at, datagram, system);
    }

    fn measure(&mut self, now: Time) {
        self.measure(now);
    }

    fn metrics(&self, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        self.metrics(now, each);
    }

    fn shows(&self, each: &mut dyn FnMut(&'static str, f64)) {
        self.shows(each);
    }
}
