//! Fills in the defaults that depend on other keys.

use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::units::Span;

use crate::buffers;
use crate::file::{Access, File, Intervals, Profile, Start, Tcp, User};
use crate::plan::{AccessPlan, TcpPlan, Traffic};
use crate::value::OrOff;

/// Returns the file with everything that the plan needs.
pub(crate) fn resolve(mut file: File) -> File {
    if let Some(Intervals { count, length }) = &file.intervals {
        file.duration = Span::from_nanos(length.as_nanos().saturating_mul(count.0.into()));
    }
    let tcp = file.tcp.unwrap_or_else(Tcp::empty);
    let resolved = tcp.resolved(file.profile).map(TcpPlan::with_ecn_if_scalable);
    file.tcp = Some(resolved.as_ref().map_or(tcp, Tcp::full));
    if let Some(mobile) = &mut file.mobile {
        (mobile.wired, mobile.radio) = (Some(mobile.wired()), Some(mobile.radio()));
    }
    let resolved = |own: &Access| Access::full(&access(own, file.profile));
    file.access = Some(resolved(file.access.as_ref().unwrap_or(&Access::empty())));
    file.receiver_access = file.receiver_access.as_ref().map(resolved);
    let interval = file.sample_interval.unwrap_or(OrOff::On(sample_interval(file.duration)));
    file.sample_interval = Some(interval);
    let start = default_start(file.warm_up, file.duration);
    for (_, user) in &mut file.users.entries {
        let start = if has_given_times(&user.traffic.0) { AT_ONCE } else { start };
        user.start = user.start.or(Some(start));
    }
    buffers::resolve(&mut file);
    file
}

/// Start of flows whose transfers have given times.
const AT_ONCE: Start = Start::at(Span::ZERO);

fn has_given_times(traffic: &Traffic) -> bool {
    matches!(traffic, Traffic::ShortFlows(own) if own.arrivals.is_some())
}

/// Returns the default start: uniform over the first second, or over the warm-up (or, without one, the run) if shorter.
fn default_start(warm_up: Span, duration: Span) -> Start {
    let whole = if warm_up == Span::ZERO { duration } else { warm_up };
    Start { to: whole.min(Span::from_secs(1)), ..AT_ONCE }
}

/// Returns the smallest 1, 2 or 5 times a power of ten nanoseconds that is at least 1/300 of `duration`.
fn sample_interval(duration: Span) -> Span {
    let least = duration.as_nanos().div_ceil(300).max(1);
    let decade = 10u64.pow(least.ilog10());
    let round = [1, 2, 5, 10].map(|digit| digit * decade);
    Span::from_nanos(*round.iter().find(|step| **step >= least).expect("10 decades are enough"))
}

impl File {
    /// Returns the encoding of prices, if the file has one.
    pub fn price_encoding(&self) -> Option<Encoding> {
        self.price_encoding.as_ref().map(|choice| (&choice.0).into())
    }
}

impl TcpPlan {
    /// Switches on ECN if the congestion controller requires it.
    pub(crate) fn with_ecn_if_scalable(mut self) -> TcpPlan {
        self.ecn |= self.congestion_control.is_scalable();
        self
    }
}

/// End of the path that a group has at the hosts of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtHosts {
    /// The sending end.
    Sending,
    /// The receiving end.
    Receiving,
}

impl User {
    /// Returns the group at whose hosts these users are, if not at their own, and the end of the path that is there.
    /// `None` as well if the group does not exist, which is reported elsewhere.
    pub fn hosts_in<'a>(&self, file: &'a File) -> Option<(usize, &'a User, AtHosts)> {
        let name = self.hosts.as_ref()?;
        let place = file.users.place_of(name)?;
        let group = &file.users.entries[place].1;
        let (from, to) = self.ends();
        let at = match group.ends().0 {
            node if node == from => AtHosts::Sending,
            node if node == to => AtHosts::Receiving,
            _ => return None,
        };
        Some((place, group, at))
    }

    /// Returns the access link, with the scenario's options as defaults.
    pub fn access_link(&self, file: &File) -> AccessPlan {
        if let Some((_, hosts, AtHosts::Sending)) = self.hosts_in(file) {
            return hosts.own_access_link(file);
        }
        self.own_access_link(file)
    }

    fn own_access_link(&self, file: &File) -> AccessPlan {
        overlaid(self.access.as_ref(), file.access.as_ref(), file.profile)
    }

    /// Returns the link at the far end, if there is one.
    pub fn receiver_access_link(&self, file: &File) -> Option<AccessPlan> {
        if let Some((_, hosts, AtHosts::Receiving)) = self.hosts_in(file) {
            return Some(hosts.own_access_link(file));
        }
        let (own, base) = (self.receiver_access.as_ref(), file.receiver_access.as_ref());
        (own.is_some() || base.is_some()).then(|| overlaid(own, base, file.profile))
    }
}

/// Returns a user's link with the group's options, then the scenario's, then the defaults.
fn overlaid(own: Option<&Access>, base: Option<&Access>, profile: Profile) -> AccessPlan {
    let nothing = Access::empty();
    access(&own.unwrap_or(&nothing).over(base.unwrap_or(&nothing)), profile)
}

fn access(overlay: &Access, profile: Profile) -> AccessPlan {
    overlay.resolved(profile).expect("all of it has defaults, which fit together")
}
