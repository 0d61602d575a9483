//! Users whose stages hand them over: what a stage has of a user goes to the next at which a packet of its comes, at
//! once. A handover's own signalling goes before a user, and is not modelled.

use tidegate_scenario::plan::Plan;

use super::Stages;

/// Where users are who are handed over.
#[derive(Default)]
pub struct UserLocation {
    /// The stage that a packet of a user has passed last; by user, as far as there are any.
    at: Vec<Option<u32>>,
    /// Whose each flow is.
    user_of_flow: Vec<u32>,
}

impl UserLocation {
    /// Before the first packet.
    pub fn of(plan: &Plan) -> Self {
        let customer = |user: usize| plan.users[user].customer as u32;
        let user_of_flow = plan.flows.iter().map(|flow| customer(flow.user)).collect();
        UserLocation { at: vec![None; plan.users.len()], user_of_flow }
    }
}

impl Stages {
    /// A packet of a user comes to a stage, and with it what another has of it.
    #[inline]
    pub(super) fn follow_user(&mut self, number: u32, user: u32) {
        if self.all[number as usize].hands_over && self.at.at[user as usize] != Some(number) {
            self.bring(number, user);
        }
    }

    /// A stage has learned something of a user that may be at another by now.
    pub(super) fn send_after(&mut self, number: u32, user: u32) {
        if !self.all[number as usize].hands_over {
            return;
        }
        if let Some(at) = self.at.at[user as usize].filter(|at| *at != number) {
            self.hand_over(number, at, user);
        }
    }

    #[cold]
    fn bring(&mut self, number: u32, user: u32) {
        if let Some(before) = self.at.at[user as usize].replace(number) {
            self.hand_over(before, number, user);
        }
    }

    fn hand_over(&mut self, from: u32, to: u32, user: u32) {
        let [from, to] = [from, to].map(|number| number as usize);
        if self.all[from].params != self.all[to].params {
            return;
        }
        let owners = &self.at.user_of_flow;
        let user_state = self.all[from]
            .stage
            .export_user(user, &|flow| owners.get(flow as usize) == Some(&user));
        self.all[to].stage.import_user(user, user_state);
    }
}
