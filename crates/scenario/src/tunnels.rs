//! Whether tunnels that begin on a way end on it, fit it, and report no oftener than packets come.

use std::collections::BTreeMap;

use tidegate_mechanisms::parameters::Mistake;
use tidegate_mechanisms::stage::{EcnRules, StageParams};
use tidegate_mechanisms::units::{Bytes, Rate};

use crate::check::nested;
use crate::field::Reader;
use crate::file::{File, Move, User};
use crate::network::Network;
use crate::resolve::AtHosts;

/// Stages on a group's way, in the order in which its packets pass them.
struct Standing<'a> {
    /// Where it is in the file.
    path: Vec<String>,
    stage: &'a StageParams,
    /// Of the link that packets come over.
    rate: Option<Rate>,
}

/// What is known of an end of tunnels, over all groups that pass it.
#[derive(Default)]
struct End {
    fed: bool,
    mistakes: Vec<Mistake>,
}

/// Every mistake about tunnels of a file whose ways are known.
pub(crate) fn of(file: &File, network: &Network, reader: &mut Reader) {
    let mut ends: BTreeMap<Vec<String>, End> = BTreeMap::new();
    for (name, user) in &file.users.entries {
        let (from, to) = user.ends();
        let Some(path) = network.path(from, to) else { continue };
        let size = user.packet_size.unwrap_or(file.packet_size);
        let begin = standing(file, network, (name, user), &path);
        walk((name, size), &begin, &mut ends, reader);
        for (number, Move { to, .. }) in user.moves.0.iter().enumerate() {
            let Some(path) = network.path(from, to) else { continue };
            let there = standing(file, network, (name, user), &path);
            if there.iter().any(|here| matches!(here.stage, StageParams::PdnGateway(_)))
                && !there.iter().any(|here| here.stage.ends_tunnels())
            {
                let message = format!(
                    "{to} is behind no eNodeB that could take their tunnels over: name a node that is, or give one"
                );
                let path = ["users", name, "moves", &number.to_string()];
                nested(reader, &path, |reader| reader.wrong_at("to", message));
            } else {
                walk((name, size), &there, &mut ends, reader);
            }
        }
    }
    for (path, End { fed, mistakes }) in ends {
        let no_tunnel = "ends tunnels, but no pdn-gateway stands on the way to here, so that there are none: give one \
                         (entry = [\"pdn-gateway\"]) where packets enter the network";
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        nested(reader, &path, |reader| {
            if !fed {
                reader.wrong::<()>(no_tunnel);
            }
            mistakes.into_iter().for_each(|(key, message)| reader.wrong_at(key, message));
        });
    }
}

/// Follows a group's packets from stage to stage.
fn walk(
    (group, packet): (&str, Bytes),
    standing: &[Standing],
    ends: &mut BTreeMap<Vec<String>, End>,
    reader: &mut Reader,
) {
    let mut open: Option<(&Standing, EcnRules)> = None;
    let mut tell = |at: &Standing, message: String| {
        let path: Vec<&str> = at.path.iter().map(String::as_str).collect();
        nested(reader, &path, |reader| {
            reader.wrong::<()>(message);
        });
    };
    for here in standing {
        match here.stage {
            StageParams::PdnGateway(gateway) => {
                if let Some((before, _)) = open {
                    let message = format!(
                        "packets of {group} are in a tunnel already, since {}; leave one of the two out",
                        before.path.join(".")
                    );
                    tell(here, message);
                }
                open = Some((here, gateway.ecn_rules));
            }
            StageParams::Enodeb(enodeb) => {
                let end = ends.entry(here.path.clone()).or_default();
                end.fed |= open.is_some();
                let packet_time = here.rate.map(|rate| rate.transmission_time(packet));
                if let Some(least) = packet_time.filter(|least| enodeb.interval < *least) {
                    let message = format!(
                        "{} is less than a packet takes on the link to here: give at least {least}, better a round trip",
                        enodeb.interval
                    );
                    end.tell("interval", message);
                }
                if let Some((gateway, _)) = open.filter(|(_, rules)| *rules != enodeb.ecn_rules) {
                    let message = format!(
                        "\"{}\" is not what the tunnel begins with at {}: write the same at both ends",
                        enodeb.ecn_rules.word(),
                        gateway.path.join(".")
                    );
                    end.tell("ecn_rules", message);
                }
                open = None;
            }
            _ => {}
        }
    }
    if let Some((gateway, _)) = open {
        let message = format!(
            "packets of {group} come to no eNodeB that would end their tunnel: give one (exit = [\"enodeb\"]) \
             further on their way"
        );
        tell(gateway, message);
    }
}

impl End {
    fn tell(&mut self, key: &'static str, message: String) {
        if !self.mistakes.contains(&(key, message.clone())) {
            self.mistakes.push((key, message));
        }
    }
}

/// All stages on a group's way.
fn standing<'a>(
    file: &'a File,
    network: &'a Network,
    (name, user): (&'a str, &'a User),
    path: &[u32],
) -> Vec<Standing<'a>> {
    let mut all = Vec::new();
    let mut add = |place: &[&str], stages: &'a [StageParams], rate| {
        for (number, stage) in stages.iter().enumerate() {
            let path = place.iter().map(|part| (*part).to_owned()).chain([number.to_string()]);
            all.push(Standing { path: path.collect(), stage, rate });
        }
    };
    let (host, sends) = match user.hosts_in(file) {
        Some((place, hosts, AtHosts::Sending)) => (file.users.entries[place].0.as_str(), hosts),
        _ => (name, user),
    };
    add(&["users", host, "entry"], &sends.entry, None);
    let mut links = path.iter().map(|number| &network.links[*number as usize]);
    for link in links.clone() {
        let of_link = link.name.strip_suffix(".reverse").unwrap_or(&link.name);
        let place = match () {
            () if file.bottleneck.is_some() => vec!["bottleneck"],
            () if file.parking_lot.is_some() => vec!["parking_lot"],
            () => vec!["links", of_link],
        };
        add(&[&place[..], &["entry"]].concat(), &link.entry, Some(link.rate));
        add(&[&place[..], &["exit"]].concat(), &link.exit, Some(link.rate));
    }
    add(&["users", name, "exit"], &user.exit, links.next_back().map(|link| link.rate));
    all
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn mistakes(gateway: &str, enodeb: &str, more: &str) -> Vec<String> {
        let text = format!(
            "version = 1\n[links.core]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mb/s\"\nduplex = false\nentry = [{gateway}]\n\
             [links.last]\nfrom = \"b\"\nto = \"c\"\nrate = \"2 Mb/s\"\nduplex = false\nexit = [{enodeb}]\n\
             [links.back]\nfrom = \"c\"\nto = \"a\"\nrate = \"1 Mb/s\"\nduplex = false\n\
             [users.one]\nfrom = \"a\"\nto = \"c\"\n{more}"
        );
        let told = Scenario::parse(&text, &[]).err().into_iter().flatten();
        told.map(|mistake| mistake.to_string()).collect()
    }

    fn tell(found: &[String], wanted: &[&str]) {
        let all = found.iter().zip(wanted).all(|(found, wanted)| found.contains(wanted));
        assert!(all && found.len() == wanted.len(), "{found:#?} {wanted:#?}");
    }

    #[test]
    fn users_move_to_nodes_behind_an_enodeb_that_there_are_one_after_the_other() {
        let far = "[links.far]\nfrom = \"b\"\nto = \"d\"\nrate = \"1 Mb/s\"";
        let moves = |moves: &str| mistakes(GATEWAY, ENODEB, &format!("moves = [{moves}]\n{far}"));
        tell(&moves("{ at = \"1 s\", to = \"c\" }"), &[]);
        tell(
            &moves("{ at = \"1 s\", to = \"d\" }, { at = \"1 s\", to = \"e\" }"),
            &[
                "users.one.moves: times must ascend, but 1.000000000 s follows 1.000000000 s",
                "users.one.moves.0.to: d is behind no eNodeB",
                "users.one.moves.1.to: there is no node \"e\"; nodes are",
            ],
        );
    }

    const GATEWAY: &str = "\"pdn-gateway\"";
    const ENODEB: &str = "\"enodeb\"";

    #[test]
    fn a_tunnel_has_a_beginning_and_an_end() {
        tell(&mistakes(GATEWAY, ENODEB, ""), &[]);
        tell(
            &mistakes("", ENODEB, ""),
            &["line 13: links.last.exit.0: ends tunnels, but no pdn-gateway"],
        );
        tell(
            &mistakes(GATEWAY, "", ""),
            &["line 7: links.core.entry.0: packets of one come to no eNodeB"],
        );
        let twice = "entry = [\"pdn-gateway\"]";
        tell(&mistakes(GATEWAY, ENODEB, twice), &["in a tunnel already, since users.one.entry.0"]);
        // Some have a tunnel, and some go past it.
        let past = "[users.two]\nfrom = \"b\"\nto = \"c\"\n[links.b]\nfrom = \"c\"\nto = \"b\"\nrate = \"1 Mb/s\"\nduplex = false";
        tell(&mistakes(GATEWAY, ENODEB, past), &[]);
    }

    /// A packet of 1500 B takes 6 ms on 2 Mb/s.
    #[test]
    fn all_mistakes_are_told_at_once_with_key_and_remedy() {
        let gateway = "{ kind = \"pdn-gateway\", mtu = \"1500 B\" }";
        let enodeb = "{ kind = \"enodeb\", interval = \"5 ms\", ecn_rules = \"rfc6040\" }";
        tell(
            &mistakes(gateway, enodeb, ""),
            &[
                "links.core.entry.0.mtu: a packet of 1500 B has 1544 B in the tunnel",
                "links.last.exit.0.interval: 0.005000000 s is less than a packet takes on the link to here: give at least 0.006000000 s",
                "links.last.exit.0.ecn_rules: \"rfc6040\" is not what the tunnel begins with at links.core.entry.0",
            ],
        );
        tell(
            &mistakes(GATEWAY, &enodeb.replace("5 ms", "6 ms").replace("rfc6040", "re-ecn"), ""),
            &[],
        );
    }
}
