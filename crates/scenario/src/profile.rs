//! Profiles, which set options together.

use tidegate_mechanisms::registry::ByProfile;
use tidegate_mechanisms::words;

words! {
    /// A set of TCP options.
    pub enum Profile {
        /// Today's Linux kernel.
        Linux = "linux",
        /// A plain research TCP, close to ns-2's.
        Classic = "classic",
        /// The kernel of 2009, which many papers used; written by its source, and not compared with it in runs.
        Linux2629 = "linux-2.6.29",
    }
}

#[expect(
    clippy::derivable_impls,
    reason = "`choice!` declares words alone, none of them a default"
)]
impl Default for Profile {
    fn default() -> Self {
        Profile::Linux
    }
}

impl Profile {
    /// Returns the default for this profile.
    pub fn choose(self, defaults: &ByProfile) -> &'static str {
        match self {
            Profile::Linux => defaults.linux,
            Profile::Classic => defaults.classic,
            Profile::Linux2629 => defaults.linux_2_6_29,
        }
    }
}
