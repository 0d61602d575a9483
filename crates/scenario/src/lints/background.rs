//! Lints of LEDBAT senders whose target delay exceeds every queue.

use tidegate_mechanisms::sender::{LedbatParams, SenderParams};
use tidegate_mechanisms::units::{Bytes, Span};

use super::{Direction, shared_links};
use crate::field::Reader;
use crate::file::{File, User};
use crate::network::Network;
use crate::plan::{Buffer, LinkPlan};

/// Reports all of these lints.
pub(super) fn of(file: &File, network: &Network, reader: &mut Reader) {
    for (name, user) in &file.users.entries {
        reader.nested(&["users", name], |reader| yields(file, user, network, reader));
    }
}

fn yields(file: &File, user: &User, network: &Network, reader: &mut Reader) {
    let tcp = user.traffic.0.is_over_tcp().then(|| user.tcp_options(file)).flatten();
    let Some(SenderParams::Ledbat(LedbatParams { target, .. })) =
        tcp.map(|tcp| tcp.congestion_control)
    else {
        return;
    };
    let size = user.packet_size.unwrap_or(file.packet_size);
    let longest =
        shared_links(network, user, Direction::Forward).map(|link| holds(link, size)).max();
    if let Some(longest) = longest.filter(|longest| *longest < target) {
        let message = format!(
            "ledbat's target is {} ms, and the longest queue on its path holds {} ms, so that it fills that queue and yields to no flow: give tcp.congestion_control.target",
            target.as_secs() * 1e3,
            (longest.as_secs() * 1e3).round()
        );
        reader.error::<()>(message);
    }
}

/// Returns the delay of a full buffer.
fn holds(link: &LinkPlan, packet_size: Bytes) -> Span {
    let bytes = match link.buffer {
        Buffer::Packets(packets) => u64::from(packets) * packet_size.get(),
        Buffer::Bytes(bytes) => bytes.get(),
    };
    link.rate.transmission_time(Bytes::new(bytes))
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    /// 30 packets of 1500 B take 36 ms at 10 Mb/s.
    #[test]
    fn a_target_above_what_every_queue_holds_is_warned_of() {
        let lints = |target: &str| {
            let text = format!(
                "version = 1\n[bottleneck]\nrate = \"10 Mb/s\"\nbuffer = \"30 packets\"\n[users.a]\n\
                 tcp = {{ congestion_control = {{ kind = \"ledbat\", target = \"{target}\" }} }}\n"
            );
            let scenario = Scenario::parse(&text, &[]).expect("valid");
            scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(lints("30 ms"), Vec::<String>::new());
        let reported = lints("50 ms");
        let want =
            "users.a: ledbat's target is 50 ms, and the longest queue on its path holds 36 ms";
        assert!(reported.len() == 1 && reported[0].contains(want), "{reported:?}");
        assert!(reported[0].ends_with("give tcp.congestion_control.target"), "{reported:?}");
    }
}
