//! Rows of application metrics, of simulated and real hosts.

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::Plan;

use super::{ApplicationSeries, ApplicationTable};

impl ApplicationTable {
    /// Adds a metric of a flow's application.
    pub fn push(&mut self, plan: &Plan, flow: usize, what: &str, amount: f64) {
        let user = plan.flows[flow].user;
        self.flow.push(flow as u32);
        self.user.push(user as u32);
        self.group.push(plan.users[user].group as u32);
        self.what.push(what.to_owned());
        self.amount.push(amount);
    }
}

impl ApplicationSeries {
    /// Adds a sample of a flow's application.
    pub fn push(&mut self, plan: &Plan, now: Time, flow: usize, what: &str, amount: f64) {
        self.time_s.push(now.as_secs());
        self.flow.push(flow as u32);
        self.group.push(plan.users[plan.flows[flow].user].group as u32);
        self.what.push(what.to_owned());
        self.amount.push(amount);
    }
}
