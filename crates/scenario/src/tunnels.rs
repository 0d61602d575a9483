//! Checks that tunnels on a path also end on it, that their packets fit, and that reports are not more frequent than
//! packets.

use std::collections::BTreeMap;

use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::stage::{StageParams, TunnelEnd};
use tidegate_mechanisms::units::{Bytes, Rate};

use crate::field::Reader;
use crate::file::{File, Mobile, Side, User};
use crate::network::Network;
use crate::plan::LinkPlan;
use crate::resolve::AtHosts;
use room::TooSmall;

mod room;

/// Stages on a group's path, in the order of its packets.
struct AttachedStage<'a> {
    /// Path of keys in the file.
    path: Vec<String>,
    stage: &'a StageParams,
    /// Rate of the link over which packets arrive.
    rate: Option<Rate>,
    /// Whether it is the counterpart of a tunnel end on the reverse path of a link with `duplex`.
    turned: bool,
}

/// State of a tunnel end, over all groups that pass it.
#[derive(Default)]
struct End {
    up: bool,
    fed: bool,
    errors: Vec<ParameterError>,
}

/// Reports all errors about tunnels of a file whose paths are known.
pub(crate) fn of(file: &File, network: &Network, reader: &mut Reader) {
    let mut ends: BTreeMap<Vec<String>, End> = BTreeMap::new();
    let mut inside: Inside = BTreeMap::new();
    let mut too_small = TooSmall::default();
    for (name, user) in &file.users.entries {
        let (from, to) = user.ends();
        let Some(path) = network.path(from, to) else { continue };
        let size = user.packet_size.unwrap_or(file.packet_size);
        let begin = attached(file, network, (name, user), &path);
        walk((name, size), &begin, (&mut ends, &mut inside), reader);
        let mut see = |path: &[u32]| {
            let (_, sender) = sender(file, (name, user));
            too_small.see((file, network), size, &sender.ingress, path);
        };
        see(&path);
        let back =
            network.path(to, from).map_or_else(Vec::new, |path| of_links(file, network, &path));
        walk((name, size), &back, (&mut ends, &mut inside), reader);
        let was = [&begin[..], &back[..]];
        for (number, (step, (_, from, to))) in user.moves.0.iter().zip(user.walk()).enumerate() {
            let paths = network.path(from, to).zip(network.path(to, from));
            let Some((path, back)) = paths else { continue };
            see(&path);
            let there = attached(file, network, (name, user), &path);
            let back = of_links(file, network, &back);
            let (key, node) = if step.to.is_some() { ("to", to) } else { ("from", from) };
            let [was_there, was_back] = was;
            if loses_tunnels(was_there, &there) || loses_tunnels(was_back, &back) {
                let message = format!(
                    "{node} is behind no eNodeB that could take their tunnels over: name a node that is, or give one"
                );
                let path = ["users", name, "moves", &number.to_string()];
                reader.nested(&path, |reader| reader.error_at(key, message));
            } else {
                walk((name, size), &there, (&mut ends, &mut inside), reader);
                walk((name, size), &back, (&mut ends, &mut inside), reader);
            }
        }
    }
    too_small.report(reader);
    for (path, End { up, fed, errors }) in ends {
        let beginning = if up { "enodeb-uplink" } else { "pdn-gateway" };
        let no_tunnel = format!(
            "ends tunnels, but no {beginning} is on the path to here, so that there are none: give one (ingress = \
             [\"{beginning}\"]) where packets enter the network"
        );
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        reader.nested(&path, |reader| {
            if !fed {
                reader.error::<()>(&*no_tunnel);
            }
            errors.into_iter().for_each(|(key, message)| reader.error_at(key, message));
        });
    }
    for ((path, rules), _) in inside.into_iter().filter(|(_, is_in_such)| !is_in_such) {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let message = format!(
            "looks into tunnels, but no packet here is in a tunnel whose ends have ecn_rules = \"{rules}\": put it before an \
             end of such"
        );
        reader.nested(&path, |reader| {
            reader.error::<()>(message);
        });
    }
}

/// Stages that have to be in tunnels, by place and rules, and whether any packet is in such a tunnel there.
type Inside = BTreeMap<(Vec<String>, &'static str), bool>;

/// Whether packets reached the end of a tunnel before, and reach none on another path.
fn loses_tunnels(before: &[AttachedStage], after: &[AttachedStage]) -> bool {
    let is_whole = |path: &[AttachedStage]| {
        let ends = || path.iter().filter_map(|here| here.stage.tunnel_end());
        ends().any(|end| end.interval.is_none()) && ends().any(|end| end.interval.is_some())
    };
    is_whole(before) && !is_whole(after)
}

/// Follows a group's packets from stage to stage.
fn walk(
    (group, packet): (&str, Bytes),
    attached: &[AttachedStage],
    (ends, inside): (&mut BTreeMap<Vec<String>, End>, &mut Inside),
    reader: &mut Reader,
) {
    let mut open: Option<(&AttachedStage, TunnelEnd)> = None;
    let mut report = |at: &AttachedStage, message: String| {
        let path: Vec<&str> = at.path.iter().map(String::as_str).collect();
        reader.nested(&path, |reader| {
            reader.error::<()>(message);
        });
    };
    for here in attached {
        if let Some(rules) = here.stage.tunnels_by() {
            let is_in_such = open.is_some_and(|(_, begun)| begun.ecn_rules == rules);
            *inside.entry((here.path.clone(), rules.word())).or_default() |= is_in_such;
        }
        let Some(own) = here.stage.tunnel_end() else { continue };
        let Some(interval) = own.interval else {
            if let Some((before, _)) = open {
                let message = format!(
                    "packets of {group} are in a tunnel already, since {}; remove one of the two",
                    before.path.join(".")
                );
                report(here, message);
            }
            open = Some((here, own));
            continue;
        };
        let end = ends.entry(here.path.clone()).or_default();
        (end.up, end.fed) = (own.up, end.fed | open.is_some());
        let packet_time = here.rate.map(|rate| rate.transmission_time(packet));
        if let Some(least) = packet_time.filter(|least| interval < *least) {
            let message = format!(
                "{interval} is less than a packet takes on the link to here: give at least {least}, better a round trip"
            );
            end.report("interval", message);
        }
        if let Some((before, _)) = open.filter(|(_, begun)| begun.ecn_rules != own.ecn_rules) {
            let message = format!(
                "\"{}\" is not what the tunnel begins with at {}: write the same at both ends",
                own.ecn_rules.word(),
                before.path.join(".")
            );
            end.report("ecn_rules", message);
        }
        if let Some((before, _)) = open.filter(|(_, begun)| begun.up != own.up) {
            let message = format!(
                "the tunnel of {group} begins with {} at {}, and leads in the other direction: end it with {}",
                before.stage.name(),
                before.path.join("."),
                end_of(!own.up),
            );
            report(here, message);
        }
        open = None;
    }
    if let Some((begins, TunnelEnd { up, .. })) = open {
        let what = if up { "PDN gateway" } else { "eNodeB" };
        let back = match begins.turned {
            true => ", or, as this is the reverse path, duplex = false where it begins",
            false => "",
        };
        let message = format!(
            "packets of {group} pass no {what} that would end their tunnel: give one (egress = [\"{}\"]) further along their path{back}",
            end_of(up)
        );
        report(begins, message);
    }
}

/// Returns the kind of stage at which uplink or downlink tunnels end.
const fn end_of(up: bool) -> &'static str {
    if up { "pdn-gateway-uplink" } else { "enodeb" }
}

impl End {
    fn report(&mut self, key: &'static str, message: String) {
        if !self.errors.contains(&(key, message.clone())) {
            self.errors.push((key, message));
        }
    }
}

/// Returns the group whose ingress stages packets pass.
fn sender<'a>(file: &'a File, (name, user): (&'a str, &'a User)) -> (&'a str, &'a User) {
    match user.hosts_in(file) {
        Some((place, hosts, AtHosts::Sending)) => (file.users.entries[place].0.as_str(), hosts),
        _ => (name, user),
    }
}

/// Returns all stages on a group's path.
fn attached<'a>(
    file: &'a File,
    network: &'a Network,
    (name, user): (&'a str, &'a User),
    path: &[u32],
) -> Vec<AttachedStage<'a>> {
    let at = |path: [&str; 3], stages, rate| at_place(&path, stages, rate);
    let (host, sends) = sender(file, (name, user));
    let mut all = at(["users", host, "ingress"], &sends.ingress, None);
    all.extend(of_links(file, network, path));
    let last = path.last().map(|number| network.links[*number as usize].rate);
    all.extend(at(["users", name, "egress"], &user.egress, last));
    all
}

/// Returns the stages at the links of a path.
fn of_links<'a>(file: &'a File, network: &'a Network, path: &[u32]) -> Vec<AttachedStage<'a>> {
    let mut all = Vec::new();
    for link in path.iter().map(|number| &network.links[*number as usize]) {
        for (side, stages) in [(Side::Ingress, &link.ingress), (Side::Egress, &link.egress)] {
            for (number, stage) in stages.iter().enumerate() {
                let (written, number) = written_at(network, link, side, number);
                let place = place(file, link.name.as_str(), written);
                let path = place.iter().map(|part| (*part).to_owned()).chain([number.to_string()]);
                let (path, rate) = (path.collect(), Some(link.rate));
                all.push(AttachedStage { path, stage, rate, turned: written != side });
            }
        }
    }
    all
}

/// Returns the position of a stage in the file: on the reverse path of a link, tunnel ends are those of the link's
/// other end.
fn written_at(network: &Network, link: &LinkPlan, side: Side, number: usize) -> (Side, usize) {
    let unchanged = (side, number);
    let Some(name) = link.name.as_str().strip_suffix(".reverse") else { return unchanged };
    if !link.ingress.iter().chain(&link.egress).any(StageParams::is_of_tunnels) {
        return unchanged;
    }
    let Some(there) = network.link(name) else {
        return unchanged;
    };
    let (own, far, other) = match side {
        Side::Ingress => (&there.ingress, Side::Egress, &there.egress),
        Side::Egress => (&there.egress, Side::Ingress, &there.ingress),
    };
    let stays = own.iter().enumerate().filter(|(_, stage)| !stage.is_of_tunnels());
    let replicas = other.iter().enumerate().filter(|(_, stage)| stage.counterpart().is_some());
    let all =
        stays.map(|(number, _)| (side, number)).chain(replicas.map(|(number, _)| (far, number)));
    all.into_iter().nth(number).unwrap_or(unchanged)
}

/// Returns the position in the file of the stages at an end of a link.
fn place<'a>(file: &File, link: &'a str, side: Side) -> Vec<&'a str> {
    let key = match side {
        Side::Ingress => "ingress",
        Side::Egress => "egress",
    };
    let link = link.strip_suffix(".reverse").unwrap_or(link);
    match () {
        () if file.bottleneck.is_some() => vec!["bottleneck", key],
        () if file.parking_lot.is_some() => vec!["parking_lot", key],
        () if file.mobile.is_some() => vec!["mobile", Mobile::key_at(link, side).unwrap_or(key)],
        () => vec!["links", link, key],
    }
}

fn at_place<'a>(
    place: &[&str],
    stages: &'a [StageParams],
    rate: Option<Rate>,
) -> Vec<AttachedStage<'a>> {
    let path = |number: usize| {
        place.iter().map(|part| (*part).to_owned()).chain([number.to_string()]).collect()
    };
    let attached =
        |(number, stage)| AttachedStage { path: path(number), stage, rate, turned: false };
    stages.iter().enumerate().map(attached).collect()
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn errors(gateway: &str, enodeb: &str, more: &str) -> Vec<String> {
        reported(&format!(
            "version = 1\n[links.core]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mb/s\"\nduplex = false\ningress = [{gateway}]\n\
             [links.last]\nfrom = \"b\"\nto = \"c\"\nrate = \"2 Mb/s\"\nduplex = false\negress = [{enodeb}]\n\
             [links.back]\nfrom = \"c\"\nto = \"a\"\nrate = \"1 Mb/s\"\nduplex = false\n\
             [users.one]\nfrom = \"a\"\nto = \"c\"\n{more}"
        ))
    }

    fn reported(text: &str) -> Vec<String> {
        let reported = Scenario::parse(text, &[]).err().into_iter().flatten();
        reported.map(|error| error.to_string()).collect()
    }

    fn check_messages(found: &[String], wanted: &[&str]) {
        let all = found.iter().zip(wanted).all(|(found, wanted)| found.contains(wanted));
        assert!(all && found.len() == wanted.len(), "{found:#?} {wanted:#?}");
    }

    #[test]
    fn users_move_to_nodes_behind_an_enodeb_that_there_are_one_after_the_other() {
        let far = "[links.far]\nfrom = \"b\"\nto = \"d\"\nrate = \"1 Mb/s\"";
        let moves = |moves: &str| errors(GATEWAY, ENODEB, &format!("moves = [{moves}]\n{far}"));
        check_messages(&moves("{ at = \"1 s\", to = \"c\" }"), &[]);
        check_messages(
            &moves("{ at = \"1 s\", to = \"d\" }, { at = \"1 s\", to = \"e\" }"),
            &[
                "users.one.moves: times must ascend, but 1 s follows 1 s",
                "users.one.moves.0.to: d is behind no eNodeB",
                "users.one.moves.1.to: there is no node \"e\"; nodes are",
            ],
        );
    }

    #[test]
    fn a_stage_that_looks_into_tunnels_is_in_one_by_its_rules() {
        let auditor = "{ kind = \"conex-auditor\", losses = \"tunnel\" }";
        let none = ["links.last.egress.0: looks into tunnels, but no packet here is in a tunnel"];
        check_messages(&errors("", auditor, ""), &none);
        check_messages(&errors(GATEWAY, &format!("{auditor}, {ENODEB}"), ""), &none);
        let [gateway, enodeb] = ["pdn-gateway", "enodeb"]
            .map(|kind| format!("{{ kind = \"{kind}\", ecn_rules = \"rfc7713\" }}"));
        check_messages(&errors(&gateway, &format!("{auditor}, {enodeb}"), ""), &[]);
        let behind = format!("{enodeb}, {auditor}");
        check_messages(
            &errors(&gateway, &behind, ""),
            &["links.last.egress.1: looks into tunnels"],
        );
    }

    const GATEWAY: &str = "\"pdn-gateway\"";
    const ENODEB: &str = "\"enodeb\"";

    #[test]
    fn a_tunnel_has_a_beginning_and_an_end() {
        check_messages(&errors(GATEWAY, ENODEB, ""), &[]);
        check_messages(
            &errors("", ENODEB, ""),
            &["line 13: links.last.egress.0: ends tunnels, but no pdn-gateway"],
        );
        check_messages(
            &errors(GATEWAY, "", ""),
            &["line 7: links.core.ingress.0: packets of one pass no eNodeB"],
        );
        let twice = "ingress = [\"pdn-gateway\"]";
        check_messages(
            &errors(GATEWAY, ENODEB, twice),
            &["in a tunnel already, since users.one.ingress.0"],
        );
        // Some packets are in a tunnel, and some bypass it.
        let past = "[users.two]\nfrom = \"b\"\nto = \"c\"\n[links.b]\nfrom = \"c\"\nto = \"b\"\nrate = \"1 Mb/s\"\nduplex = false";
        check_messages(&errors(GATEWAY, ENODEB, past), &[]);
    }

    /// 44 B are added in the tunnel, 40 B without re-insertion; behind its end the same buffer suffices.
    #[test]
    fn a_queue_in_the_tunnel_that_holds_no_packet_with_its_headers_is_reported_with_the_largest() {
        let with = |gateway: &str, room: u32| {
            reported(&format!(
                "version = 1\n[links.core]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mb/s\"\nbuffer = \"{room} B\"\n\
                 duplex = false\ningress = [{gateway}]\negress = [\"enodeb\"]\n\
                 [links.back]\nfrom = \"b\"\nto = \"a\"\nrate = \"1 Mb/s\"\nduplex = false\n\
                 [links.air]\nfrom = \"b\"\nto = \"c\"\nrate = \"1 Mb/s\"\nbuffer = \"1500 B\"\n\
                 [users.one]\nfrom = \"a\"\nto = \"c\"\n",
            ))
        };
        let message = "links.core.buffer: 1543 B do not hold a packet of 1500 B, which has 1544 B in its tunnel: give at \
                       least that, or packets of at most 1499 B";
        check_messages(&with(GATEWAY, 1543), &[message]);
        check_messages(&with(GATEWAY, 1544), &[]);
        let alone = "{ kind = \"pdn-gateway\", re_inserts = false }";
        check_messages(&with(alone, 1540), &[]);
        check_messages(&with(alone, 1539), &["has 1540 B in its tunnel"]);
        check_messages(
            &with(GATEWAY, 1499),
            &["links.core.buffer: 1499 B do not hold a packet of 1500 B"],
        );
        let shape = "wired = { buffer = \"1510 B\" }\nbuffer = \"1520 B\"\nradio = { buffer = \"1500 B\" }\n\
                     gateway = [\"pdn-gateway\"]\nenodeb = [\"enodeb\"]";
        check_messages(
            &mobile(shape),
            &["mobile.wired.buffer: 1510 B do not hold", "mobile.buffer: 1520 B do not hold"],
        );
    }

    /// A packet of 1500 B takes 6 ms on 2 Mb/s.
    #[test]
    fn all_errors_are_reported_together_with_key_and_remedy() {
        let gateway = "{ kind = \"pdn-gateway\", mtu = \"1500 B\" }";
        let enodeb = "{ kind = \"enodeb\", interval = \"5 ms\", ecn_rules = \"rfc6040\" }";
        check_messages(
            &errors(gateway, enodeb, ""),
            &[
                "links.core.ingress.0.mtu: a packet of 1500 B has 1544 B in the tunnel",
                "links.last.egress.0.interval: 5 ms is less than a packet takes on the link to here: give at least 6 ms",
                "links.last.egress.0.ecn_rules: \"rfc6040\" is not what the tunnel begins with at links.core.ingress.0",
            ],
        );
        check_messages(
            &errors(GATEWAY, &enodeb.replace("5 ms", "6 ms").replace("rfc6040", "re-ecn"), ""),
            &[],
        );
    }

    #[test]
    fn an_end_of_tunnels_on_the_reverse_path_is_reported_at_its_place_in_the_file() {
        let text = "version = 1\nusers.one = { from = \"a\", to = \"b\" }\n[links.core]\nfrom = \"a\"\nto = \"b\"\n\
                    rate = \"1 Mb/s\"\negress = [\"mark-counter\", \"enodeb\"]\n";
        let reported = reported(text);
        check_messages(
            &reported,
            &[
                "line 7: links.core.egress.1: packets of one pass no PDN gateway",
                "line 7: links.core.egress.1: ends tunnels, but no pdn-gateway is on the path to here",
            ],
        );
        assert!(
            reported[0]
                .ends_with("or, as this is the reverse path, duplex = false where it begins")
        );
    }

    #[test]
    fn a_tunnel_up_begins_at_an_enodeb_and_ends_at_the_gateway() {
        let (up, top) = ("\"enodeb-uplink\"", "\"pdn-gateway-uplink\"");
        check_messages(&errors(up, top, ""), &[]);
        check_messages(
            &errors("", top, ""),
            &["links.last.egress.0: ends tunnels, but no enodeb-uplink is on the path to here"],
        );
        check_messages(
            &errors(up, "", ""),
            &["links.core.ingress.0: packets of one pass no PDN gateway that would end"],
        );
        check_messages(
            &errors(GATEWAY, top, ""),
            &[
                "links.last.egress.0: the tunnel of one begins with pdn-gateway at links.core.ingress.0, and leads in the other direction: end it with enodeb",
            ],
        );
        let (early, small) = (
            "{ kind = \"pdn-gateway-uplink\", interval = \"5 ms\" }",
            "{ kind = \"enodeb-uplink\", mtu = \"1500 B\" }",
        );
        check_messages(
            &errors(small, early, ""),
            &["links.core.ingress.0.mtu: a packet of 1500 B", "links.last.egress.0.interval: 5 ms"],
        );
    }

    /// Returns the errors of a `[mobile]` network with downloads, and these additions.
    fn mobile(more: &str) -> Vec<String> {
        let text = format!(
            "version = 1\n[mobile]\nrate = \"50 Mb/s\"\n{more}\n[users.one]\nfrom = \"G1\"\nto = \"phones1\"\n"
        );
        reported(&text)
    }

    #[test]
    fn errors_in_the_shape_of_a_mobile_network_are_reported_at_its_keys() {
        let (down, up) = ("gateway = [\"pdn-gateway\"]", "gateway_up = [\"pdn-gateway-uplink\"]");
        check_messages(&mobile(&format!("{down}\nenodeb = [\"enodeb\"]")), &[]);
        check_messages(&mobile(down), &["mobile.gateway.0: packets of one pass no eNodeB"]);
        check_messages(
            &mobile("enodeb = [\"enodeb\"]"),
            &["mobile.enodeb.0: ends tunnels, but no pdn-gateway"],
        );
        check_messages(&mobile(up), &["mobile.gateway_up.0: ends tunnels, but no enodeb-uplink"]);
        check_messages(
            &mobile(
                "enodeb = [{ kind = \"enodeb\", interval = \"1 us\" }]\ngateway = [{ kind = \"pdn-gateway\", mtu = \"1500 B\" }]",
            ),
            &["mobile.enodeb.0.interval: 1 us", "mobile.gateway.0.mtu: a packet of 1500 B"],
        );
        check_messages(
            &mobile("enodebs = 0"),
            &["mobile.enodebs: 0 is out of range; expected a whole number from 1 to 1000"],
        );
        check_messages(
            &mobile("radio = { buffer = \"100 B\" }"),
            &["mobile.radio.buffer: 100 B do not hold"],
        );
        check_messages(
            &mobile("[users.two]\nfrom = \"phones9\"\nto = \"G1\""),
            &["users.two.from: there is no node \"phones9\"; nodes are G1, N1, N2, N3"],
        );
        check_messages(
            &mobile("[users.two]\nfrom = \"phones1\"\nto = \"G1\""),
            &[
                "users.two.to: the reverse path from phones1 to G1 carries only ACKs; write mobile.duplex = true",
            ],
        );
        check_messages(
            &mobile("[links.more]\nfrom = \"N1\"\nto = \"N2\"\nrate = \"1 Mb/s\""),
            &["links: there is already [mobile]; a scenario has one topology"],
        );
    }

    /// Receivers and senders may move between eNodeBs that have tunnels in both directions, but not to a node without
    /// any.
    #[test]
    fn users_walk_with_tunnels_up_from_enodeb_to_enodeb() {
        let both = "duplex = true\ngateway = [\"pdn-gateway\"]\nenodeb = [\"enodeb\"]\nenodeb_up = [\"enodeb-uplink\"]\n\
                    gateway_up = [\"pdn-gateway-uplink\"]";
        let walk = |from: &str, to: &str, step: &str| {
            let walks =
                format!("from = \"{from}\"\nto = \"{to}\"\nmoves = [{{ at = \"1 s\"{step} }}]");
            mobile(&format!("{both}\n[users.walker]\n{walks}"))
        };
        check_messages(&walk("G1", "phones1", ", to = \"phones2\""), &[]);
        check_messages(&walk("phones1", "G1", ", from = \"phones2\""), &[]);
        check_messages(
            &walk("phones1", "G1", ", from = \"R1\""),
            &[
                "users.walker.moves.0.from: R1 is behind no eNodeB that could take their tunnels over",
            ],
        );
        check_messages(
            &walk("phones1", "G1", ", from = \"phones9\""),
            &["users.walker.moves.0.from: there is no node \"phones9\"; nodes are G1"],
        );
        check_messages(&walk("phones1", "G1", ""), &["users.walker.moves.0.at: to where?"]);
    }
}
