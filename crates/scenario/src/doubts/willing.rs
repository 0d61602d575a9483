//! Doubts about sources that pay more by bits than a link carries.
//!
//! A segment that is marked costs 1, so that by (4.2.3) on bits the share of marks settles at m = Σw/c, which cannot
//! be more than 1 (S. Zimmermann's dissertation, 2005, section 5.1.1).

use tidegate_mechanisms::sender::{DirectWindowParams, PriceReading, SenderParams};

use super::{Direction, way};
use crate::field::Reader;
use crate::file::{File, User};
use crate::network::Network;

/// Every doubt about them: one for each link that cannot mark as much as is paid for.
pub(super) fn of(file: &File, network: &Network, reader: &mut Reader) {
    for link in &network.links {
        let crosses = |user: &&User| {
            way(network, user, Direction::There).any(|other| other.name == link.name)
        };
        let users = file.users.entries.iter().map(|(_, user)| user);
        let willing: f64 = users.filter(crosses).map(|user| pays_by_marks(file, user)).sum();
        let carried = link.rate.as_bytes_per_sec() / file.packet_size.as_f64();
        if willing >= carried {
            let message = format!(
                "users pay {willing} a second by marks over {}, which carries {carried:.0} packets a second: no queue \
                 balances that, even if it marks them all; lower willingness_to_pay, or take \"sbrm\"",
                link.name
            );
            reader.wrong_at("users", message);
        }
    }
}

/// What the flows of a group offer together for marks as such, packets a second.
fn pays_by_marks(file: &File, user: &User) -> f64 {
    let tcp = user.traffic.0.is_over_tcp().then(|| user.tcp_options(file)).flatten();
    match tcp.map(|tcp| tcp.congestion_control) {
        Some(SenderParams::DirectWindow(DirectWindowParams {
            price: PriceReading::Mark,
            willingness_to_pay,
            ..
        })) => willingness_to_pay.0 * (user.count.0 * user.flows.0) as f64,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    /// 10 Mb/s carry 1250 packets of 1000 B a second.
    #[test]
    fn paying_more_by_marks_than_a_link_carries_is_doubted() {
        let doubts = |control: &str, flows: u32| {
            let text = format!(
                "version = 1\npacket_size = \"1000 B\"\n[bottleneck]\nrate = \"10 Mb/s\"\n\
                 aqm = {{ kind = \"sbrm-queue\", gamma = 0.02, target = \"10 packets\" }}\n\
                 [tcp]\ncongestion_control = {control}\n[users.a]\nflows = {flows}\ncount = 5\n"
            );
            let scenario = Scenario::parse(&text, &[]).expect("valid");
            scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let by_mark = "{ kind = \"direct-window\", price = \"mark\", willingness_to_pay = 25 }";
        assert_eq!(doubts(by_mark, 9), Vec::<String>::new());
        let told = doubts(by_mark, 10);
        let want = "users pay 1250 a second by marks over bottleneck, which carries 1250 packets";
        assert!(told.len() == 1 && told[0].contains(want), "{told:?}");
        // The steps (5.1.2) and (5.1.3) balance whatever is paid.
        let steps = "{ kind = \"sbrm\", willingness_to_pay = 25 }";
        assert_eq!(doubts(steps, 10), Vec::<String>::new());
    }
}
