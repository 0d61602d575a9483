//! Handover of users between stages: the state of a user moves from one stage to the next when a packet of the user
//! arrives there. The handover's own signalling precedes the user and is not modelled.

use tidegate_scenario::plan::Plan;

use super::Stages;

/// Locations of users that stages hand over.
#[derive(Default)]
pub struct UserLocation {
    /// Stage that a packet of each user has passed last; empty without such stages.
    at: Vec<Option<u32>>,
    /// User of each flow.
    user_of_flow: Vec<u32>,
}

impl UserLocation {
    /// Returns the locations before the first packet, where stages hand over.
    pub fn of(plan: &Plan) -> Self {
        let customer = |user: usize| plan.users[user].customer as u32;
        let user_of_flow = plan.flows.iter().map(|flow| customer(flow.user)).collect();
        UserLocation { at: vec![None; plan.users.len()], user_of_flow }
    }
}

impl Stages {
    /// Moves a user's state to the stage at which a packet of the user arrives.
    #[inline]
    pub(super) fn follow_user(&mut self, number: u32, user: u32) {
        if self.all[number as usize].hands_over && self.at.at[user as usize] != Some(number) {
            self.bring(number, user);
        }
    }

    /// Forwards what a stage has learned of a user that may have moved to another.
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
