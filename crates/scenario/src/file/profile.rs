//! The profiles, which set options together.

use crate::declare::choice;

choice! {
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
