//! Always something to send.

use tidegate_mechanisms::parameters;

use super::Application;

parameters! {
    /// TCP that always has data to send.
    pub struct Greedy {}
}

impl Application for Greedy {}
