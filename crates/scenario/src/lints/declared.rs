//! Lints of mechanisms that use declared congestion (ConEx, re-ECN) without, or with unsuitable, declarations.

use std::collections::BTreeSet;

use tidegate_mechanisms::stage::{
    ConexAuditorParams, ConexPolicerParams, LossSign, NotConex, Outside, PolicerCurve, StageParams,
    Upstream,
};
use tidegate_mechanisms::units::Bytes;

use super::{Crossing, Direction, shared_links};
use crate::field::Reader;
use crate::file::{File, Mobile, Side, User};
use crate::network::Network;
use crate::plan::{
    BlindConex, Cbr, CheatPlan, ConexPlan, CreditPlan, LinkPlan, PerSignal, ReEcn, Rfc7786, Traffic,
};

/// Place of stages: position in the file, stages, and groups whose packets pass.
struct Place<'a> {
    path: Vec<&'a str>,
    stages: &'a [StageParams],
    senders: Vec<&'a Sender<'a>>,
    /// Bottlenecks behind it on the way of some of these packets.
    ahead: Vec<String>,
}

/// Group of users, and the TCP declarations of its senders.
struct Sender<'a> {
    name: &'a str,
    user: &'a User,
    conex: Option<ConexPlan>,
}

impl<'a> Sender<'a> {
    fn of((name, user): &'a (String, User), file: &File) -> Self {
        let tcp = user.traffic.0.is_over_tcp().then(|| user.tcp_options(file)).flatten();
        Sender { name, user, conex: tcp.map(|tcp| tcp.conex) }
    }
    /// Whether the senders are ConEx-capable.
    fn declares(&self) -> bool {
        match self.unresponsive() {
            Some(BlindConex::Blind(_) | BlindConex::Reported(_)) => true,
            Some(BlindConex::Off | BlindConex::ReEcn(_)) => false,
            None => self.has(declares),
        }
    }
    /// Whether the senders give credit.
    fn gives_credit(&self) -> bool {
        match self.unresponsive() {
            Some(BlindConex::Blind(blind)) => blind.credit.0 > 0.0,
            Some(BlindConex::Reported(own)) => own.credit > Bytes::ZERO,
            Some(BlindConex::Off | BlindConex::ReEcn(_)) => false,
            None => self.has(gives_credit),
        }
    }
    /// Whether the senders declare by re-ECN.
    fn declares_by_re_ecn(&self) -> bool {
        matches!(self.unresponsive(), Some(BlindConex::ReEcn(_))) || self.has(declares_by_re_ecn)
    }
    /// Returns the declarations of unresponsive senders.
    fn unresponsive(&self) -> Option<&BlindConex> {
        match &self.user.traffic.0 {
            Traffic::Cbr(Cbr { conex, .. }) => Some(conex),
            _ => None,
        }
    }
    /// Whether a condition holds for their declarations.
    fn has(&self, says: fn(&ConexPlan) -> bool) -> bool {
        self.conex.as_ref().is_some_and(says)
    }
}

/// Reports all lints of policers and auditors.
pub(super) fn of(file: &File, network: &Network, crossing: &Crossing, reader: &mut Reader) {
    let senders: Vec<Sender> =
        file.users.entries.iter().map(|entry| Sender::of(entry, file)).collect();
    for Place { path, stages, senders, ahead } in places(file, &senders, network, crossing) {
        for (number, stage) in stages.iter().enumerate() {
            let number = number.to_string();
            let path = [path.as_slice(), &[number.as_str()]].concat();
            reader.nested(&path, |reader| {
                at(stage, &senders, reader);
                audits_too_early(stage, &ahead, reader);
                if let StageParams::ConexPolicer(policer) = stage {
                    first_hop(policer, &path, reader);
                }
            });
        }
    }
    for sender in &senders {
        if sender.has(whitewashes) && !starts_over(&sender.user.traffic.0) {
            reader.nested(&["users", sender.name], |reader| {
                reader.error::<()>(
                    "they give their connections up when their credit is used up, and their traffic begins no \
                     others: give traffic = { kind = \"transfer\", size = \"1 GB\", pause = \"1 ms\" }",
                );
            });
        }
    }
}

const fn whitewashes(conex: &ConexPlan) -> bool {
    let (ConexPlan::Rfc7786(Rfc7786 { cheat, .. })
    | ConexPlan::PerSignal(PerSignal { cheat, .. })
    | ConexPlan::ReEcn(ReEcn { cheat, .. })) = conex
    else {
        return false;
    };
    matches!(cheat, CheatPlan::Whitewash(_))
}

/// Whether the traffic opens another connection after one has ended.
fn starts_over(traffic: &Traffic) -> bool {
    match traffic {
        Traffic::Transfer(transfer) => transfer.pauses().is_some(),
        Traffic::ShortFlows(_) | Traffic::Pages(_) => true,
        _ => false,
    }
}

fn at(stage: &StageParams, senders: &[&Sender], reader: &mut Reader) {
    let passing = Passing { senders };
    match stage {
        StageParams::ConexPolicer(policer) => policed(policer, &passing, reader),
        StageParams::ConexAuditor(_) => audited(&passing, reader),
        StageParams::ReEcnPolicer(policer) if passing.none_by_re_ecn() => {
            let so = match policer.outside {
                Outside::Police => "everybody has the fill rate",
                Outside::Pass => "nothing is policed",
                Outside::Drop => "all packets are dropped",
            };
            reader.error::<()>(format!(
                "no sender whose packets pass here declares by re-ECN, so that {so}: give {} = \"re-ecn\"",
                passing.key()
            ));
        }
        StageParams::ReEcnDropper(_) => dropped(&passing, reader),
        _ => {}
    }
}

/// Senders whose packets pass a place.
struct Passing<'a> {
    senders: &'a [&'a Sender<'a>],
}

impl Passing<'_> {
    /// Whether no sender declares by re-ECN.
    fn none_by_re_ecn(&self) -> bool {
        !self.senders.iter().any(|sender| sender.declares_by_re_ecn())
    }
    /// Whether no sender is ConEx-capable.
    fn none_declares(&self) -> bool {
        !self.senders.iter().any(|sender| sender.declares())
    }
    /// Returns the key that configures their declarations, which for a constant rate is not among TCP's options.
    fn key(&self) -> &'static str {
        let at_constant_rates =
            self.senders.iter().all(|sender| matches!(sender.user.traffic.0, Traffic::Cbr(_)));
        if at_constant_rates { "traffic.conex" } else { "tcp.conex" }
    }
    /// Returns the names of the groups for which a condition holds.
    fn names(&self, holds: impl Fn(&Sender) -> bool) -> String {
        let found = self.senders.iter().filter(|sender| holds(sender));
        found.map(|sender| sender.name).collect::<Vec<_>>().join(", ")
    }
}

fn policed(policer: &ConexPolicerParams, passing: &Passing, reader: &mut Reader) {
    if let Some(so) = without_declarations(policer).filter(|_| passing.none_declares()) {
        reader.error::<()>(format!(
            "no sender whose packets pass here declares the congestion it meets, so that {so}: give {}",
            passing.key()
        ));
    }
    if policer.fill_rate.is_zero() {
        let message = "the bucket is never filled: no more than its depth may ever be declared";
        reader.error_at("fill_rate", message);
    }
}

/// Reports that congestion shows only behind an auditor.
fn audits_too_early(stage: &StageParams, ahead: &[String], reader: &mut Reader) {
    let sees_repeats = |params: &ConexAuditorParams| params.losses == LossSign::Repeat;
    let is_behind = match stage {
        StageParams::ConexAuditor(params) => !sees_repeats(params),
        StageParams::ReEcnDropper(_) => true,
        _ => false,
    };
    if is_behind && !ahead.is_empty() {
        let names = ahead.join(", ");
        reader.error::<()>(format!(
            "what packets meet at {names} shows behind it, so that nothing of it is audited here: put the audit behind \
             the last bottleneck, as users.NAME.egress"
        ));
    }
}

/// Reports that a policer where users enter the network lets their own marks pay.
fn first_hop(policer: &ConexPolicerParams, path: &[&str], reader: &mut Reader) {
    if policer.upstream == Upstream::Credit && matches!(path, ["users", _, "ingress", _]) {
        let message = "only the users' own hosts are upstream of their ingress, so that they set CE on their packets, \
                       declare a mark on each, and pay nothing: leave it at \"ignore\"";
        reader.error_at("upstream", message);
    }
}

/// Returns the effect of a policer if all packets are outside ConEx, if that is probably not intended.
fn without_declarations(policer: &ConexPolicerParams) -> Option<&'static str> {
    let is_shut = policer.fill_rate.is_zero()
        && policer.curve == PolicerCurve::Strict
        && policer.initial.is_some_and(|tokens| tokens.is_zero());
    match policer.not_conex {
        NotConex::Limit => None,
        NotConex::Drop => Some("all packets are dropped"),
        NotConex::Police if is_shut => Some("all packets are dropped"),
        NotConex::Police | NotConex::Pass => Some("nothing is policed"),
    }
}

fn audited(passing: &Passing, reader: &mut Reader) {
    let silent = passing.names(|sender| sender.declares() && !sender.gives_credit());
    if passing.none_declares() {
        reader.error::<()>(format!(
            "no sender whose packets pass here declares anything, so that nothing is audited: give {}",
            passing.key()
        ));
    } else if !silent.is_empty() {
        reader.error::<()>(format!(
            "{silent} declare without giving credit, so that the audit counts the first congestion they meet against them: give tcp.conex = {{ kind = \"rfc7786\", credit = \"flight\" }}"
        ));
    }
}

fn dropped(passing: &Passing, reader: &mut Reader) {
    if passing.none_by_re_ecn() {
        reader.error::<()>(format!(
            "no sender whose packets pass here declares by re-ECN, so that nothing is dropped: give {} = \"re-ecn\"",
            passing.key()
        ));
    }
    let short = passing.names(|sender| sender.has(may_be_short));
    if !short.is_empty() {
        reader.error::<()>(format!(
            "{short} declare by re-ECN without credit, so that packets behind the first mark are dropped \
             for a round trip: give tcp.conex = {{ kind = \"re-ecn\", credit = \"half-flight\" }}"
        ));
    }
}

/// Returns the names of the bottlenecks that packets of these senders pass after a link, or at all.
fn bottlenecks_after(network: &Network, senders: &[&Sender], link: Option<u32>) -> Vec<String> {
    let mut names = BTreeSet::new();
    for sender in senders {
        let (from, to) = sender.user.ends();
        let path = network.path(from, to).unwrap_or_default();
        let start = link.and_then(|link| path.iter().position(|own| *own == link));
        let after = path.into_iter().skip(start.map_or(0, |place| place + 1));
        let links = after.map(|number| &network.links[number as usize]);
        names.extend(links.filter(|link| link.monitored).map(|link| link.name.to_string()));
    }
    names.into_iter().collect()
}

const fn declares_by_re_ecn(conex: &ConexPlan) -> bool {
    matches!(conex, ConexPlan::ReEcn(_))
}

const fn may_be_short(conex: &ConexPlan) -> bool {
    let ConexPlan::ReEcn(ReEcn { credit, .. }) = conex else { return false };
    matches!(credit, CreditPlan::Off)
}

const fn declares(conex: &ConexPlan) -> bool {
    matches!(conex, ConexPlan::Rfc7786(_) | ConexPlan::PerSignal(_))
}

const fn gives_credit(conex: &ConexPlan) -> bool {
    let ConexPlan::Rfc7786(Rfc7786 { credit, .. }) = conex else { return false };
    !matches!(credit, CreditPlan::Off)
}

fn places<'a>(
    file: &'a File,
    senders: &'a [Sender<'a>],
    network: &Network,
    crossing: &Crossing,
) -> Vec<Place<'a>> {
    let mut places = Vec::new();
    for (mobile, key) in file.mobile.iter().flat_map(|own| Mobile::STAGES.map(|key| (own, key))) {
        let is_here = |link: &LinkPlan| {
            [Side::Ingress, Side::Egress]
                .iter()
                .any(|side| Mobile::key_at(link.name.as_str(), *side) == Some(key))
        };
        let takes =
            |sender: &&Sender| shared_links(network, sender.user, Direction::Forward).any(is_here);
        let (path, stages) = (vec!["mobile", key], mobile.stages_of(key));
        let senders = senders.iter().filter(takes).collect();
        places.push(Place { path, stages, senders, ahead: Vec::new() });
    }
    let mut ends = |path: &[&'a str],
                    ends: [&'a Vec<StageParams>; 2],
                    senders: &dyn Fn() -> Vec<&'a Sender<'a>>,
                    ahead: &dyn Fn(&'static str) -> Vec<String>| {
        for (end, stages) in ["ingress", "egress"].into_iter().zip(ends) {
            if !stages.is_empty() {
                let path = [path, &[end]].concat();
                places.push(Place { path, stages, senders: senders(), ahead: ahead(end) });
            }
        }
    };
    for sender in senders {
        let Sender { name, user, .. } = sender;
        let ahead = |end: &str| match end {
            "ingress" => bottlenecks_after(network, &[sender], None),
            _ => Vec::new(),
        };
        ends(&["users", name], [&user.ingress, &user.egress], &|| vec![sender], &ahead);
    }
    for (path, link) in file.link_mechanisms() {
        let number = match path[..] {
            ["links", name] => network.number_of_link(name),
            _ => None,
        };
        let of_place = || -> Vec<&Sender> {
            match number {
                Some(link) => crossing.groups(link).iter().map(|group| &senders[*group]).collect(),
                None => senders.iter().collect(),
            }
        };
        let ahead = |end: &str| {
            let observes = link.ingress.iter().any(StageParams::observes_drops);
            let own = (end == "ingress" && !observes).then(|| path.join("."));
            let after = number.map(|at| bottlenecks_after(network, &of_place(), Some(at)));
            own.into_iter().chain(after.into_iter().flatten()).collect()
        };
        ends(&path, [&link.ingress, &link.egress], &of_place, &ahead);
    }
    places
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    const POLICER: &str = r#"{ kind = "conex-policer", fill_rate = "0 kb/s", depth = "67500 B" }"#;

    fn lints(conex: &str, place: &str, stage: &str) -> Vec<String> {
        lints_about(&format!("tcp.conex = {conex}"), place, stage)
    }

    fn lints_about(sender: &str, place: &str, stage: &str) -> Vec<String> {
        let text = format!(
            "version = 1\nbottleneck.rate = \"10 Mb/s\"\nusers.a.{sender}\nusers.b.flows = 1\n\
             {place} = [{stage}]\n"
        );
        let scenario = Scenario::parse(&text, &[]).expect("is valid");
        scenario.warnings().iter().map(ToString::to_string).collect()
    }

    fn check_messages(lints: &[String], wanted: &[&str]) {
        let all = lints.iter().zip(wanted).all(|(lint, wanted)| lint.contains(wanted));
        assert!(all && lints.len() == wanted.len(), "{lints:#?} {wanted:#?}");
    }

    #[test]
    fn a_policer_that_sees_no_declaration_and_one_that_never_fills_are_warned_of() {
        let [no_sender, never] =
            ["no sender whose packets pass here declares", "fill_rate: the bucket is never filled"];
        check_messages(&lints("\"off\"", "users.a.ingress", POLICER), &[no_sender, never]);
        check_messages(&lints("\"per-signal\"", "users.a.ingress", POLICER), &[never]);
        check_messages(&lints("\"per-signal\"", "users.b.ingress", POLICER), &[no_sender, never]);
        check_messages(&lints("\"per-signal\"", "bottleneck.ingress", POLICER), &[never]);
        let flood = "traffic = { kind = \"cbr\", rate = \"1 Mb/s\" }";
        check_messages(
            &lints_about(flood, "users.a.ingress", POLICER),
            &["give traffic.conex", never],
        );
        check_messages(
            &lints_about(flood, "bottleneck.ingress", POLICER),
            &["give tcp.conex", never],
        );
    }

    #[test]
    fn a_policer_that_lets_marks_of_users_pay_is_warned_of_where_they_enter() {
        let policer = POLICER.replace("\"0 kb/s", "\"108 kb/s");
        let credits = policer.replace(" }", ", upstream = \"credit\" }");
        let conex = "\"rfc7786\"";
        check_messages(&lints(conex, "users.a.ingress", &policer), &[]);
        check_messages(
            &lints(conex, "users.a.ingress", &credits),
            &["users.a.ingress.0.upstream: only the users' own hosts are upstream"],
        );
        check_messages(&lints(conex, "bottleneck.ingress", &credits), &[]);
    }

    #[test]
    fn an_auditor_in_front_of_the_bottleneck_is_warned_of() {
        let conex = "\"rfc7786\"";
        let unseen = "what packets meet at bottleneck shows behind it";
        let auditor = "\"conex-auditor\"";
        for place in ["users.a.ingress", "bottleneck.ingress"] {
            check_messages(&lints(conex, place, auditor), &[unseen]);
        }
        for place in ["users.a.egress", "bottleneck.egress"] {
            check_messages(&lints(conex, place, auditor), &[]);
        }
        let near_the_sender = r#"{ kind = "conex-auditor", losses = "repeat" }"#;
        check_messages(&lints(conex, "users.a.ingress", near_the_sender), &[]);
        let notified = r#"{ kind = "conex-auditor", losses = "queue" }"#;
        check_messages(&lints(conex, "bottleneck.ingress", notified), &[]);
        let re_ecn = "\"re-ecn\"\nusers.a.tcp.ecn = true";
        check_messages(&lints(re_ecn, "users.a.ingress", "\"re-ecn-dropper\""), &[unseen]);
    }

    #[test]
    fn a_policer_that_limits_or_drops_packets_outside_conex_acts_on_those_that_declare_nothing() {
        let with = |more: &str| {
            let policer = POLICER.replace("\"0 kb/s", "\"108 kb/s").replace(" }", more);
            lints("\"off\"", "users.a.ingress", &policer)
        };
        check_messages(&with(" }"), &["so that nothing is policed: give"]);
        check_messages(&with(", not_conex = \"pass\" }"), &["so that nothing is policed: give"]);
        check_messages(
            &with(", not_conex = \"drop\" }"),
            &["so that all packets are dropped: give"],
        );
        let limit = ", not_conex = \"limit\", not_conex_rate = \"1 Mb/s\" }";
        check_messages(&with(limit), &[]);
        let shut = POLICER.replace(" }", ", curve = \"strict\", initial = \"0 B\" }");
        let dropped = "so that all packets are dropped: give";
        check_messages(
            &lints("\"off\"", "users.a.ingress", &shut),
            &[dropped, "fill_rate: the bucket is never filled"],
        );
    }

    #[test]
    fn an_auditor_whose_senders_give_no_credit_is_warned_of() {
        let auditor = "\"conex-auditor\"";
        check_messages(
            &lints("\"off\"", "bottleneck.egress", auditor),
            &["no sender whose packets"],
        );
        check_messages(
            &lints("\"per-signal\"", "bottleneck.egress", auditor),
            &["a declare without giving credit"],
        );
        check_messages(&lints("\"rfc7786\"", "bottleneck.egress", auditor), &[]);
        let none = r#"{ kind = "rfc7786", credit = "off" }"#;
        check_messages(&lints(none, "users.a.egress", auditor), &["users.a.egress.0: a declare"]);
    }

    #[test]
    fn a_sender_without_feedback_that_declares_is_known_to() {
        let blind = |credit| {
            let conex = format!("{{ kind = \"blind\", marks = 0.1, credit = {credit} }}");
            format!("traffic = {{ kind = \"cbr\", rate = \"1 Mb/s\", conex = {conex} }}")
        };
        let auditor = "\"conex-auditor\"";
        check_messages(&lints_about(&blind(0.1), "users.a.egress", auditor), &[]);
        check_messages(
            &lints_about(&blind(0.0), "users.a.egress", auditor),
            &["a declare without giving"],
        );
        let full = POLICER.replace("\"0 kb/s", "\"108 kb/s");
        check_messages(&lints_about(&blind(0.1), "users.a.ingress", &full), &[]);
    }

    #[test]
    fn a_sender_that_changes_its_flow_has_another() {
        let with = |traffic: &str| {
            let cheat = "{ kind = \"rfc7786\", cheat = \"whitewash\" }";
            lints_about(&format!("tcp.conex = {cheat}\nusers.a.{traffic}"), "users.b.ingress", "")
        };
        check_messages(&with("flows = 1"), &["users.a: they give their connections up"]);
        let once = "traffic = { kind = \"transfer\", size = \"9 MB\" }";
        check_messages(&with(once), &["users.a: they give their connections up"]);
        check_messages(&with(&once.replace(" }", ", pause = \"1 ms\" }")), &[]);
    }

    #[test]
    fn re_ecn_where_no_sender_declares_by_it_or_gives_no_credit_is_warned_of() {
        let policer = r#"{ kind = "re-ecn-policer", fill_rate = "1 Mb/s", depth = "9 kB", round_trip = "9 ms" }"#;
        let with = "\"re-ecn\"\nusers.a.tcp.ecn = true";
        for (stage, message) in
            [(policer, "has the fill rate"), ("\"re-ecn-dropper\"", "nothing is dropped")]
        {
            check_messages(&lints("\"rfc7786\"", "users.a.egress", stage), &[message]);
            check_messages(&lints(with, "bottleneck.egress", stage), &[]);
        }
        let none = "{ kind = \"re-ecn\", credit = \"off\" }\nusers.a.tcp.ecn = true";
        check_messages(
            &lints(none, "users.a.egress", "\"re-ecn-dropper\""),
            &["a declare by re-ECN without credit"],
        );
    }
}
