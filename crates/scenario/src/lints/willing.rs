//! Lints of sources with their own reaction to marks: without a marking queue, and for sources that pay by marks with a
//! total payment above a link's capacity.
//!
//! A marked segment costs 1, so that by (4.2.3) on bits the share of marks settles at m = Σw/c, which cannot exceed 1
//! (S. Zimmermann's dissertation, 2005, section 5.1.1).

use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::bottleneck::{AqmParams, DifferentiationParams, Moment};
use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::sender::{PriceReading, SenderParams};

use super::{Crossing, Direction, shared_links};
use crate::field::Reader;
use crate::file::{File, User};
use crate::network::Network;
use crate::plan::LinkPlan;

/// Reports all of these lints.
pub(super) fn of(file: &File, network: &Network, crossing: &Crossing, reader: &mut Reader) {
    too_much(file, network, crossing, reader);
    for (name, user) in &file.users.entries {
        reader.nested(&["users", name], |reader| unmarked(file, user, network, reader));
    }
}

/// Reports each link that cannot mark as much as is paid for.
fn too_much(file: &File, network: &Network, crossing: &Crossing, reader: &mut Reader) {
    let of_groups: Vec<f64> =
        file.users.entries.iter().map(|(_, user)| pays_by_marks(file, user)).collect();
    for (number, link) in (0..).zip(&network.links) {
        let willing: f64 = crossing.groups(number).iter().map(|group| of_groups[*group]).sum();
        let carried = link.rate.as_bytes_per_sec() / file.packet_size.as_f64();
        if willing >= carried {
            let message = format!(
                "users pay {willing} a second by marks over {}, which carries {carried:.0} packets a second: no queue \
                 balances that, even if it marks them all; lower willingness_to_pay, or take \"sbrm\"",
                link.name
            );
            reader.error_at("users", message);
        }
    }
}

/// Reports senders without a marking queue: a source that pays by marks then grows until packets are lost, and one that
/// reacts to marks in proportion is Reno (RFC 8257, section 3.5).
fn unmarked(file: &File, user: &User, network: &Network, reader: &mut Reader) {
    let Some(sender) = sender(file, user) else { return };
    let pays_by_marks = match &sender {
        SenderParams::DirectWindow(own) => own.price == PriceReading::Mark,
        other => other.pays() && !other.reads_prices(),
    };
    let in_proportion = sender.is_scalable() && !sender.pays();
    let (from, to) = user.ends();
    let mut links = shared_links(network, user, Direction::Forward).peekable();
    let encoding = file.price_encoding();
    let needs_marks = pays_by_marks || in_proportion;
    if !needs_marks || links.peek().is_none() || links.any(|link| may_mark(link, encoding)) {
        return;
    }
    let name = sender.about().name;
    let message = if pays_by_marks {
        format!(
            "{name} goes by marks, and no link between {from} and {to} marks, so that it grows until packets are \
             lost: give one of them e.g. aqm = {{ kind = \"sbrm-queue\", gamma = 0.01, target = \"30 packets\" }}"
        )
    } else {
        format!(
            "{name} answers to marks in proportion, and no link between {from} and {to} marks, so that it answers to \
             losses, as reno does: give one of them ecn = true, with an AQM or a scheduler that signals"
        )
    };
    reader.error::<()>(message);
}

/// Whether anything at a link may mark ECN-capable packets. A price in the payload word marks none.
fn may_mark(link: &LinkPlan, encoding: Option<Encoding>) -> bool {
    let by_queue = match link.aqm.asks_price() {
        Some(Moment::MarkedDeparture) => true,
        Some(_) => encoding.is_some_and(|encoding| !encoding.is_in_payload()),
        None => link.ecn && link.aqm != AqmParams::DropTail,
    };
    let by_others = link.differentiation != DifferentiationParams::None
        || link.scheduler != SchedulerParams::Fifo;
    by_queue || (link.ecn && by_others) || !(link.ingress.is_empty() && link.egress.is_empty())
}

/// Returns the total payment of a group's flows for single marks, packets per second. This includes flows that read the
/// price of a path if that is the share of its marks.
fn pays_by_marks(file: &File, user: &User) -> f64 {
    let Some(SenderParams::DirectWindow(own)) = sender(file, user) else { return 0.0 };
    if own.price != PriceReading::Mark && file.price_encoding() != Some(Encoding::Maximum) {
        return 0.0;
    }
    own.willingness_to_pay.0 * (user.count.0 * user.flows.0) as f64
}

/// Returns the congestion control of a group, if it uses TCP.
fn sender(file: &File, user: &User) -> Option<SenderParams> {
    let tcp = user.traffic.0.is_over_tcp().then(|| user.tcp_options(file)).flatten();
    tcp.map(|tcp| tcp.congestion_control)
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    /// 10 Mb/s carry 1250 packets of 1000 B a second.
    #[test]
    fn paying_more_by_marks_than_a_link_carries_is_warned_of() {
        let over = |control: &str, flows: u32, encoding: &str| {
            let text = format!(
                "version = 1\npacket_size = \"1000 B\"\nprice_encoding = {{ kind = \"{encoding}\" }}\n[bottleneck]\nrate = \"10 Mb/s\"\n\
                 aqm = {{ kind = \"sbrm-queue\", gamma = 0.02, target = \"10 packets\" }}\n\
                 [tcp]\ncongestion_control = {control}\n[users.a]\nflows = {flows}\ncount = 5\n"
            );
            let scenario = Scenario::parse(&text, &[]).expect("valid");
            scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let lints = |control: &str, flows: u32| over(control, flows, "explicit");
        let by_mark = "{ kind = \"direct-window\", price = \"mark\", willingness_to_pay = 25 }";
        assert_eq!(lints(by_mark, 9), Vec::<String>::new());
        let reported = lints(by_mark, 10);
        let want = "users pay 1250 a second by marks over bottleneck, which carries 1250 packets";
        assert!(reported.len() == 1 && reported[0].contains(want), "{reported:?}");
        // The price of a path is at most 1 if it is the share of marks.
        let by_share = "{ kind = \"direct-window\", willingness_to_pay = 25 }";
        assert_eq!(over(by_share, 10, "maximum"), reported);
        assert_eq!(over(by_share, 10, "explicit"), Vec::<String>::new());
        // The steps (5.1.2) and (5.1.3) have an equilibrium for any payment.
        let steps = "{ kind = \"sbrm\", willingness_to_pay = 25 }";
        assert_eq!(lints(steps, 10), Vec::<String>::new());
    }

    #[test]
    fn a_sender_that_goes_by_marks_where_nothing_marks_is_warned_of() {
        let lints = |sender: &str, link: &str| {
            let text = format!(
                "version = 1\nprice_encoding = {{ kind = \"explicit\" }}\n[bottleneck]\nrate = \"10 Mb/s\"\n\
                 {link}\n[tcp]\necn = true\ncongestion_control = {sender}\n[users.a]\n"
            );
            let scenario = Scenario::parse(&text, &[]).expect("valid");
            scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let by_mark = r#"{ kind = "direct-window", price = "mark" }"#;
        let reported = |sender| lints(sender, "").iter().any(|lint| lint.contains("goes by marks"));
        assert!([r#""sbrm""#, r#""tcp-rm""#, by_mark].into_iter().all(reported));
        assert!(![r#""reno""#, r#""prague""#].into_iter().any(reported));
        let as_reno = |sender, link| {
            lints(sender, link).iter().any(|lint| lint.contains("to losses, as reno does"))
        };
        let red = |ecn: bool| {
            let red = r#"aqm = { kind = "red", min_threshold = "9 packets", max_threshold = "30 packets" }"#;
            format!("{red}\necn = {ecn}")
        };
        let (drops, marks) = (red(false), red(true));
        for sender in [r#""dctcp""#, r#""prague""#] {
            for link in ["", drops.as_str(), "scheduler = \"dualpi2\"", "scheduler = \"fq-codel\""]
            {
                assert!(as_reno(sender, link), "{sender} {link}");
            }
            for link in [marks.as_str(), "scheduler = \"dualpi2\"\necn = true"] {
                assert!(!as_reno(sender, link), "{sender} {link}");
            }
        }
        assert!(!as_reno(r#""cubic""#, "scheduler = \"dualpi2\""));
        let marking = [
            "aqm = { kind = \"sbrm-queue\", gamma = 0.01, target = \"30 packets\" }",
            "aqm = \"codel\"\necn = true",
            "scheduler = \"dualpi2\"\necn = true",
        ];
        for link in marking {
            assert_eq!(lints("\"sbrm\"", link), Vec::<String>::new(), "{link}");
        }
        // Explicit prices are in a word of the packet.
        assert_eq!(
            lints("\"sbrm\"", "aqm = { kind = \"pc3\", target = \"10 packets\" }\necn = true")
                .len(),
            1
        );
        let without_ecn = lints("\"sbrm\"", "aqm = \"codel\"");
        assert!(
            without_ecn[0].starts_with("line 9: users.a: sbrm goes by marks"),
            "{without_ecn:?}"
        );
    }
}
