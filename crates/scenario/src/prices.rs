//! Checks that prices get from queues to the sources that use them.

use tidegate_mechanisms::sender::{DirectWindowParams, PriceReading, SenderParams};
use tidegate_mechanisms::stage::StageParams;

use crate::field::Reader;
use crate::file::{File, User};
use crate::network::Network;

const KEY: &str = "price_encoding";

/// Reports all errors; routes are checked if the network is known.
pub(crate) fn of(file: &File, network: Option<&Network>, reader: &mut Reader) {
    not_beside_activities(file, network, reader);
    if encoding_is_invalid(reader) {
        return; // the encoding of prices is known when that error is corrected
    }
    for (name, user) in &file.users.entries {
        let own = user.tcp.as_ref().is_some_and(|tcp| tcp.sets("congestion_control"));
        let path = if own { vec!["users", name, "tcp"] } else { vec!["tcp"] };
        if let Some(message) = unheard(file, user, network) {
            reader.nested(&path, |reader| reader.error_at("congestion_control", message));
            if !own {
                return; // the error applies to all groups that have it
            }
        }
    }
}

/// Whether the encoding of prices is given, and invalid.
pub(crate) fn encoding_is_invalid(reader: &Reader) -> bool {
    reader.errors.iter().any(|error| error.path.first().is_some_and(|key| key == KEY))
}

/// Reports conflicts of prices and activities, which share one word of a packet.
fn not_beside_activities(file: &File, network: Option<&Network>, reader: &mut Reader) {
    if !file.price_encoding().is_some_and(|encoding| encoding.is_in_payload()) {
        return;
    }
    let of_users = file.users.entries.iter().filter_map(|(name, user)| {
        let mut stages = user.ingress.iter().chain(&user.egress);
        let writes = stages.any(StageParams::writes_signal);
        (user.meter.is_some() || writes).then(|| format!("users.{name}"))
    });
    let of_links = network.into_iter().flat_map(|network| &network.links).filter_map(|link| {
        let mut stages = link.ingress.iter().chain(&link.egress);
        stages.any(StageParams::writes_signal).then(|| link.name.to_string())
    });
    if let Some(place) = of_users.chain(of_links).next() {
        let message = format!(
            "prices would be written where the activities from {place} are: a packet carries one of the two; encode prices in one bit, or remove the meter"
        );
        reader.error_at(KEY, message);
    }
}

/// Returns the reason why a source that uses prices would not receive any.
fn unheard(file: &File, user: &User, network: Option<&Network>) -> Option<String> {
    let tcp = user.traffic.0.is_over_tcp().then(|| user.tcp_options(file)).flatten()?;
    let sender = tcp.congestion_control;
    let by_mark = matches!(
        sender,
        SenderParams::DirectWindow(DirectWindowParams { price: PriceReading::Mark, .. })
    );
    if !sender.reads_prices() || by_mark {
        return None;
    }
    let name = sender.about().name;
    let Some(encoding) = file.price_encoding() else {
        return Some(format!(
            "{name} goes by prices, and the scenario does not say how they travel: give e.g. \
             price_encoding = {{ kind = \"explicit\" }}"
        ));
    };
    let (network, (from, to)) = (network?, user.ends());
    let path = network.path(from, to)?;
    let speaks = |link: &u32| {
        let link = &network.links[*link as usize];
        link.aqm.asks_price().is_some() || (!encoding.is_in_payload() && link.ecn)
    };
    (!path.iter().any(speaks)).then(|| {
        let how = if encoding.is_in_payload() { "" } else { ", or marks by ECN" };
        format!(
            "{name} goes by prices, and no link between {from} and {to} asks any{how}: give one of them \
             e.g. aqm = {{ kind = \"pc3\", target = \"18 packets\" }}"
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    const EXPLICIT: &str = r#"price_encoding = { kind = "explicit" }"#;
    const ONE_BIT: &str = r#"price_encoding = { kind = "one-bit", base = 1.06 }"#;

    fn errors(head: &str, aqm: &str, users: &str) -> Vec<String> {
        let text = format!(
            "version = 1\n{head}\n[bottleneck]\nrate = \"10 Mb/s\"\naqm = {aqm}\n[users.a]\n{users}\n"
        );
        let reported = Scenario::parse(&text, &[]).err().unwrap_or_default();
        reported.iter().map(ToString::to_string).collect()
    }

    fn check_messages(reported: &[String], wanted: &[&str]) {
        let all = reported.iter().zip(wanted).all(|(reported, wanted)| reported.contains(wanted));
        assert!(all && reported.len() == wanted.len(), "{reported:#?} {wanted:#?}");
    }

    const PC3: &str = r#"{ kind = "pc3", target = "10 packets" }"#;
    const SOURCE: &str = "tcp.congestion_control = \"direct-window\"";

    #[test]
    fn a_sender_that_follows_prices_needs_an_encoding() {
        check_messages(&errors(EXPLICIT, PC3, SOURCE), &[]);
        let no_encoding = "does not say how";
        check_messages(&errors("", "\"drop-tail\"", SOURCE), &[no_encoding]);
        check_messages(&errors("", PC3, ""), &["does not say how prices travel"]);
        check_messages(&errors(EXPLICIT, "\"drop-tail\"", SOURCE), &["asks any: give"]);
        check_messages(&errors(ONE_BIT, "\"codel\"", SOURCE), &["asks any, or marks by ECN"]);
        check_messages(&errors(ONE_BIT, "\"codel\"\necn = true", SOURCE), &[]);
        let by_mark = r#"tcp.congestion_control = { kind = "direct-window", price = "mark" }"#;
        check_messages(&errors("", "\"drop-tail\"", by_mark), &[]);
    }

    #[test]
    fn an_error_in_the_price_encoding_is_not_reported_as_missing() {
        let no_base = r#"price_encoding = { kind = "one-bit" }"#;
        let beyond = r#"{ kind = "pc3", target = "100 packets" }"#;
        let wanted = ["line 2: price_encoding.base: missing", "100 packets is not below"];
        check_messages(&errors(no_base, beyond, SOURCE), &wanted);
    }

    #[test]
    fn prices_and_activities_do_not_share_a_payload_word() {
        let metered = format!("{SOURCE}\nmeter = {{ reference_rate = \"1 Mb/s\" }}");
        check_messages(&errors(EXPLICIT, PC3, &metered), &["carries one of the two"]);
        check_messages(&errors(ONE_BIT, PC3, &metered), &[]);
    }

    #[test]
    fn all_errors_in_prices_are_reported_together_at_their_keys() {
        let head = r#"price_encoding = { kind = "four-bit", base_3 = 1.01, base_4 = 1.0 }"#;
        let aqm = r#"{ kind = "pc3", target = "10 packets", interval = "0 s" }"#;
        let users =
            r#"tcp.congestion_control = { kind = "sbrm", willingness_to_pay = 0, kappa = 0 }"#;
        let wanted = [
            "price_encoding.base_1: missing",
            "price_encoding.base_2: missing",
            "price_encoding.base_4: 1 is not above 1",
            "aqm.interval",
            "willingness_to_pay",
            "kappa",
        ];
        check_messages(&errors(head, aqm, users), &wanted);
        let beyond = r#"{ kind = "pc3", target = "100 packets" }"#;
        check_messages(
            &errors(EXPLICIT, beyond, SOURCE),
            &["aqm.target: 100 packets is not below"],
        );
        let needs_ecn = "tcp.congestion_control = \"tcp-rm\"";
        check_messages(&errors("", "\"drop-tail\"", needs_ecn), &["write ecn = true"]);
    }
}
