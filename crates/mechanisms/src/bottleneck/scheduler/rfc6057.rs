//! Protocol-agnostic congestion management: customers that have used much of a busy port are served after the others.
//! C. Bastian et al., "Comcast's Protocol-Agnostic Congestion Management System", RFC 6057, 2010, sections 4 and 5: the
//! policy that a large cable operator deployed.
//!
//! Time is divided into periods. At the end of each, with B the bytes sent at the port, B_i those of customer i, C the
//! port's rate, R the provisioned rate of each customer, and T the period:
//!
//! ```text
//! near congestion      B   > θ_port C T          customers with B_i > θ_user R T: best effort
//! release              B_i < θ_release R T       customer i: priority best effort
//! ```
//!
//! Packets of *priority best effort* leave before all packets of *best effort*; each class is FIFO. The defaults are
//! the RFC's for the downstream direction: θ_port = 0.8, θ_user = 0.7, θ_release = 0.5, T = 15 minutes. Customers are
//! not restricted while the port has spare capacity, they are judged by volume and not by application, and a verdict is
//! up to a period old.
//!
//! Not specified by the RFC: periods follow each other without overlap; both classes share one buffer, and when it is
//! full a packet of priority best effort replaces the last one of best effort.

use super::two_classes::{Class, TwoClasses};
use super::{About, Discipline, Place, Queued, TransmitterState};
use crate::bottleneck::DropReason;
use crate::parameters;
use crate::parameters::ParameterError;
use crate::units::{Rate, Share, Span, Time};

parameters! {
    /// Policy of RFC 6057: users that have used much of a busy link are served after the others.
    pub struct Rfc6057Params {
        /// R: provisioned rate of each customer.
        pub provisioned_rate: Rate,
        /// θ_port: share of the link's rate C above which the link is near congestion.
        pub port_threshold: Share = "0.8",
        /// θ_user: share of R above which a customer is served last while the link is near congestion.
        pub user_threshold: Share = "0.7",
        /// θ_release: share of R below which a user is served first again.
        pub release_threshold: Share = "0.5",
        /// T: period of measurement and decision.
        pub period: Span = "15 min",
    }
    check thresholds_and_period;
}

fn thresholds_and_period(params: &Rfc6057Params) -> Option<ParameterError> {
    let (user, release) = (params.user_threshold.0, params.release_threshold.0);
    if params.period == Span::ZERO {
        return Some(("period", "0 s is no time to look back on".to_owned()));
    }
    let above = format!("{release} is above user_threshold, {user}");
    (release > user).then_some(("release_threshold", above))
}

/// Both classes, and the account of every customer.
#[derive(Clone, Debug)]
pub struct Rfc6057 {
    params: Rfc6057Params,
    /// Configured port rate C.
    port_rate: Rate,
    classes: TwoClasses,
    by_user: Vec<Account>,
    /// Bytes sent by all customers in this period.
    sent_bytes: u64,
    period_ends: Time,
}

#[derive(Clone, Copy, Debug)]
struct Account {
    /// Bytes sent by the customer in this period.
    sent_bytes: u64,
    class: Class,
}

impl Discipline for Rfc6057 {
    type Params = Rfc6057Params;

    const ABOUT: About = About {
        name: "rfc6057",
        title: "Protocol-agnostic congestion management (RFC 6057)",
        source: "RFC 6057",
        usage: r#"bottleneck.scheduler = { kind = "rfc6057", provisioned_rate = "2 Mb/s" }"#,
        file: "bottleneck/scheduler/rfc6057.rs",
        text: crate::mechanism::source_text!("rfc6057.rs"),
    };

    /// Starts the first period with all customers at priority best effort.
    fn new(params: Rfc6057Params, place: &Place) -> Self {
        assert!(params.period > Span::ZERO, "a period takes time");
        Rfc6057 {
            port_rate: place.rate,
            classes: TwoClasses::new(place.capacity),
            by_user: Vec::new(),
            sent_bytes: 0,
            period_ends: Time::ZERO + params.period,
            params,
        }
    }

    #[inline]
    fn enqueue(
        &mut self,
        packet: Queued,
        line: &TransmitterState,
        _draw: impl FnMut() -> f64,
        lose: impl FnMut(Queued, DropReason),
    ) {
        self.catch_up(line.now);
        let index = packet.user as usize;
        if index >= self.by_user.len() {
            self.by_user.resize(index + 1, Account { sent_bytes: 0, class: Class::First });
        }
        self.classes.push(packet, self.by_user[index].class, line, lose);
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        _draw: impl FnMut() -> f64,
        _lose: impl FnMut(Queued, DropReason),
    ) -> Option<Queued> {
        self.catch_up(now);
        let packet = self.classes.pop()?;
        self.sent_bytes += packet.bytes();
        self.by_user[packet.user as usize].sent_bytes += packet.bytes();
        Some(packet)
    }

    #[inline]
    fn backlog(&self) -> (u32, u64) {
        self.classes.backlog()
    }

    /// Size of the state of customers seen so far.
    fn state_bytes(&self) -> usize {
        self.by_user.len() * size_of::<Account>() + size_of::<u64>() + size_of::<Time>()
    }
}

impl Rfc6057 {
    /// Ends the periods that are over.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if self.period_ends > now {
            return;
        }
        self.end_period();
        let (period, late) = (self.params.period.as_nanos(), now.since(self.period_ends));
        let skipped = late.as_nanos() / period;
        // Nothing was sent in the skipped periods, which all have the same effect.
        if skipped > 0 {
            self.end_period();
        }
        self.period_ends += Span::from_nanos(period * (skipped + 1));
    }

    #[cold]
    fn end_period(&mut self) {
        let Rfc6057Params { port_threshold, user_threshold, release_threshold, .. } = self.params;
        let bytes_in_period = |rate: Rate| rate.as_bytes_per_sec() * self.params.period.as_secs();
        let port = bytes_in_period(self.port_rate);
        let provisioned = bytes_in_period(self.params.provisioned_rate);
        let near_congestion = self.sent_bytes as f64 > port_threshold.0 * port;
        for account in &mut self.by_user {
            let sent = account.sent_bytes as f64;
            if near_congestion && sent > user_threshold.0 * provisioned {
                account.class = Class::Behind;
            } else if sent < release_threshold.0 * provisioned {
                account.class = Class::First;
            }
            account.sent_bytes = 0;
        }
        self.sent_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{IDLE, packet, place, take};
    use super::*;
    use proptest::prelude::*;

    /// A port of 12 kb/s, so that a packet of 1500 B takes a second; two customers at 6 kb/s each;
    /// periods of 10 s.
    fn policy(room: u32) -> Rfc6057 {
        let params = Rfc6057Params {
            provisioned_rate: Rate::from_bps(6_000),
            port_threshold: Share(0.8),
            user_threshold: Share(0.7),
            release_threshold: Share(0.5),
            period: Span::from_secs(10),
        };
        Rfc6057::new(params, &Place { rate: Rate::from_bps(12_000), ..place(room) })
    }

    fn at(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    fn held_back(policy: &Rfc6057) -> bool {
        policy.by_user[0].class == Class::Behind
    }

    fn offer(policy: &mut Rfc6057, user: u32, handle: u32, now: Time) -> Vec<u32> {
        let mut lost = Vec::new();
        let line = TransmitterState { now, ..IDLE };
        let never = || panic!("draws nothing");
        policy.enqueue(Queued { user, ..packet(handle) }, &line, never, |packet, _| {
            lost.push(packet.handle);
        });
        lost
    }

    /// Sends these numbers of packets of both customers in the first period, then queues one of each and returns their
    /// order of departure.
    fn order_after(first: u32, second: u32) -> Vec<u32> {
        let mut policy = policy(100);
        for (user, count) in [(0, first), (1, second)] {
            for _ in 0..count {
                assert!(offer(&mut policy, user, 9, at(5)).is_empty());
                take(&mut policy, at(5));
            }
        }
        offer(&mut policy, 0, 0, at(11));
        offer(&mut policy, 1, 1, at(11));
        core::iter::from_fn(|| take(&mut policy, at(11))).map(|packet| packet.handle).collect()
    }

    /// A port's period holds 10 packets, a customer's 5: more than 8, and more than 3.5.
    #[test]
    fn a_user_that_used_much_of_a_busy_port_is_served_last() {
        assert_eq!(order_after(6, 3), [1, 0], "9 of 10 packets, 6 of 5");
        assert_eq!(order_after(6, 2), [0, 1], "8 of 10 packets is not more than 80 %");
        assert_eq!(order_after(3, 6), [0, 1], "the second was the heavy one");
        assert_eq!(order_after(0, 9), [0, 1]);
    }

    #[test]
    fn a_customer_is_released_below_half_its_rate_and_not_before() {
        let mut policy = policy(100);
        let send = |policy: &mut Rfc6057, user, count, s| {
            for _ in 0..count {
                offer(policy, user, 9, at(s));
                take(policy, at(s));
            }
        };
        send(&mut policy, 0, 9, 1);
        send(&mut policy, 0, 3, 11); // 3 of 5 packets: neither more than 70 % nor less than 50 %
        assert!(held_back(&policy));
        send(&mut policy, 0, 2, 21);
        assert!(held_back(&policy), "this period is not over");
        send(&mut policy, 0, 0, 31);
        offer(&mut policy, 0, 0, at(31));
        assert!(!held_back(&policy), "2 of 5 packets are less than half");
    }

    #[test]
    fn an_age_without_packets_releases_everybody() {
        let mut policy = policy(100);
        for _ in 0..9 {
            offer(&mut policy, 0, 9, at(1));
            take(&mut policy, at(1));
        }
        offer(&mut policy, 0, 1, at(10));
        assert!(held_back(&policy));
        take(&mut policy, at(10));
        offer(&mut policy, 0, 1, at(1_000));
        assert!(!held_back(&policy));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_unsaid_over_any_number_of_periods(
            steps in prop::collection::vec((0..3u32, 0..40u64, any::<bool>()), 1..300),
        ) {
            let mut policy = policy(5);
            let (mut inside, mut now) = (0i64, Time::ZERO);
            for (user, gap_s, depart) in steps {
                now += Span::from_secs(gap_s);
                inside += 1 - offer(&mut policy, user, 0, now).len() as i64;
                if depart && take(&mut policy, now).is_some() {
                    inside -= 1;
                }
                prop_assert_eq!(i64::from(policy.backlog().0), inside);
                prop_assert!(policy.period_ends > now);
            }
        }
    }
}
