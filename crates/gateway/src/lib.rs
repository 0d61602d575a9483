//! The gateway: shares a bottleneck fairly by customer on any Linux box.
//!
//! ```text
//!            ┌──────────────── the box ────────────────┐
//! customers ─┤ interface ──► the kernel ──► uplink ├─► bottleneck
//!            │   ▲ tc programs      forwards       │ queue
//!            │   │ judge by p ◄── control loop ◄───┘ every 16 ms
//!            └─────────────────────────────────────────┘
//! ```
//!
//! The kernel forwards. Programs at the customers' interface meter each customer and drop or mark by a probability p
//! and the customer's activity (`bpf/gateway`). A control loop computes p from the queue and writes it into a map with
//! a deadline. Whatever is missing or late means that packets pass.

pub mod arguments;
pub mod average;
pub mod capture;
pub mod check;
pub mod control;
pub mod customer;
pub mod customer_file;
pub mod delay;
pub mod error;
pub mod exempt;
pub mod explain;
pub mod folder;
pub mod history;
pub mod http;
pub mod lock;
pub mod log;
pub mod maps;
pub mod measures;
pub mod metrics;
pub mod netlink;
pub mod page;
pub mod prefix;
pub mod prober;
pub mod programs;
pub mod register;
pub mod reload;
pub mod report;
pub mod saved_state;
pub mod scenario_text;
pub mod sessions;
pub mod settings;
pub mod signal;
pub mod snapshot;
pub mod source;
pub mod switching;
pub mod virtual_queue;
pub mod why;
