//! Placement: whether mechanisms fit the links that they are attached to.

use tidegate_mechanisms::bottleneck::{Aqm, AqmParams};
use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::stage::StageParams;
use tidegate_mechanisms::units::{Bytes, QueueLength, Rate};

use crate::field::{Reader, UnlocatedDiagnostic};
use crate::file::{Bottleneck, File, Mobile, User};
use crate::plan::{LinkMechanisms, place};
use crate::prices;

/// Checks AQM parameters that are valid by themselves against their link.
pub(crate) fn aqms(file: &File, reader: &mut Reader) {
    let mut fits = |path: &[&str], aqm: &AqmParams, rate: Rate, buffer: QueueLength| {
        let path = [path, &["aqm"]].concat();
        let is_here = |error: &UnlocatedDiagnostic| {
            path.len() <= error.path.len() && path.iter().zip(&error.path).all(|(a, b)| a == b)
        };
        if reader.errors.iter().any(is_here) {
            // The parameters are invalid by themselves, or the error was reported at another hop.
            return;
        }
        // With an invalid price encoding, the rest is checked with an arbitrary one.
        let some = || prices::encoding_is_invalid(reader).then_some(Encoding::Explicit);
        let encoding = file.price_encoding().or_else(some);
        let here = place(rate, buffer, file.packet_size, encoding);
        if let Err((key, message)) = Aqm::new(aqm.clone(), &here) {
            reader.nested(&path, |reader| reader.error_at(key, message));
        }
    };
    for (path, mechanisms, rate, buffer) in places(file) {
        fits(&path, &mechanisms.aqm, rate, buffer);
    }
}

/// Returns the queues of shared links: position in the file, mechanisms, rate and buffer; for a parking lot each hop
/// that differs from the previous one.
pub(crate) fn places(file: &File) -> Vec<(Vec<&str>, &LinkMechanisms, Rate, QueueLength)> {
    let mut places = Vec::new();
    if let Some(Bottleneck { line, mechanisms, .. }) = &file.bottleneck {
        places.push((vec!["bottleneck"], &**mechanisms, line.rate.nominal(), line.buffer()));
    }
    if let Some(lot) = &file.parking_lot {
        let mut hops: Vec<_> =
            (0..lot.hops.count()).map(|hop| (lot.rate.at(hop), lot.buffer_at(hop))).collect();
        hops.dedup();
        let hops = hops.into_iter();
        places.extend(hops.map(|(rate, buf)| (vec!["parking_lot"], &*lot.mechanisms, rate, buf)));
    }
    if let Some(Mobile { line, mechanisms, .. }) = &file.mobile {
        places.push((vec!["mobile"], &**mechanisms, line.rate.nominal(), line.buffer()));
    }
    for (name, link) in file.links.iter().flat_map(|links| &links.entries) {
        places.push((
            vec!["links", name],
            &*link.mechanisms,
            link.line.rate.nominal(),
            link.line.buffer(),
        ));
    }
    places
}

/// Checks that token buckets that are valid by themselves hold a packet.
pub(crate) fn buckets(file: &File, reader: &mut Reader) {
    let users = &file.users.entries;
    let size = |user: &User| user.packet_size.unwrap_or(file.packet_size);
    let largest = users.iter().map(|(_, user)| size(user)).max().unwrap_or(file.packet_size);
    for (path, link) in file.link_mechanisms() {
        let path = |last: &'static str| [&path[..], &[last]].concat();
        report(&path("differentiation"), link.differentiation.validate(largest), reader);
        stages(&path("ingress"), &link.ingress, largest, reader);
        stages(&path("egress"), &link.egress, largest, reader);
    }
    for (mobile, key) in file.mobile.iter().flat_map(|own| Mobile::STAGES.map(|key| (own, key))) {
        stages(&["mobile", key], mobile.stages_of(key), largest, reader);
        at_no_queue(&["mobile", key], mobile.stages_of(key), reader);
    }
    for (name, user) in users {
        for (key, own) in [("ingress", &user.ingress), ("egress", &user.egress)] {
            stages(&["users", name, key], own, size(user), reader);
            at_no_queue(&["users", name, key], own, reader);
        }
    }
}

/// Checks that stages that observe a queue's drops are placed at one.
fn at_no_queue(path: &[&str], stages: &[StageParams], reader: &mut Reader) {
    for (number, _) in stages.iter().enumerate().filter(|(_, stage)| stage.observes_drops()) {
        let number = number.to_string();
        let message = "\"queue\" asks for what a queue drops, and here is none: put it at a link, as \
                       bottleneck.egress or links.NAME.egress";
        reader.nested(&[path, &[number.as_str()]].concat(), |reader| {
            reader.error_at("losses", message);
        });
    }
}

fn stages(path: &[&str], stages: &[StageParams], packet: Bytes, reader: &mut Reader) {
    let holders = stages.iter().zip(0..).filter(|(stage, _)| stage.capabilities().holds);
    for (_, number) in holders.skip(1) {
        let number: usize = number;
        let message = "there is a shaper in this place already; one is enough";
        let number = number.to_string();
        reader.nested(&[path, &[number.as_str()]].concat(), |reader| {
            reader.error_at("kind", message)
        });
    }
    for (number, stage) in stages.iter().enumerate() {
        let number = number.to_string();
        let path = [path, &[number.as_str()]].concat();
        report(&path, stage.validate(packet), reader);
    }
}

fn report(path: &[&str], validate: Option<ParameterError>, reader: &mut Reader) {
    if let Some((key, message)) = validate {
        reader.nested(path, |reader| reader.error_at(key, message));
    }
}

#[cfg(test)]
mod tests {
    use tidegate_mechanisms::bottleneck::PiecewiseLinearParams;

    use super::*;
    use crate::{Scenario, check, resolve};

    #[test]
    fn a_bucket_that_holds_no_packet_is_reported_at_its_depth() {
        let text = "version = 1\nusers.a = {}\n[bottleneck]\nrate = \"1 Mb/s\"\n\
                    differentiation = { kind = \"icp\", depth = \"1499 B\" }\n";
        let errors = Scenario::parse(text, &[]).expect_err("is too small");
        let reported: Vec<_> = errors.iter().map(|error| error.to_string()).collect();
        assert_eq!(reported.len(), 1, "{reported:?}");
        assert!(reported[0].contains("bottleneck.differentiation.depth"), "{reported:?}");
        assert!(reported[0].contains("1499 B do not hold a packet, of 1500 B"), "{reported:?}");
        assert!(Scenario::parse(&text.replace("1499", "1500"), &[]).is_ok());
    }

    #[test]
    fn a_stage_that_observes_drops_is_at_a_queue() {
        let at = |place: &str| {
            let text = format!(
                "version = 1\nusers.a.flows = 1\nbottleneck.rate = \"1 Mb/s\"\ntcp.conex = \"rfc7786\"\n\
                 {place} = [{{ kind = \"conex-auditor\", losses = \"queue\" }}]\n"
            );
            let errors = Scenario::parse(&text, &[]).err().into_iter().flatten();
            errors.map(|error| error.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(at("bottleneck.egress"), [""; 0]);
        assert_eq!(at("bottleneck.ingress"), [""; 0]);
        for place in ["users.a.ingress", "users.a.egress"] {
            let reported = at(place);
            let wanted = format!(
                "{place}.0.losses: \"queue\" asks for what a queue drops, and here is none"
            );
            assert!(reported.len() == 1 && reported[0].contains(&wanted), "{reported:?}");
        }
    }

    /// Errors of an AQM's constructor are reported at its key, once.
    #[test]
    fn an_aqm_that_does_not_fit_its_link_is_reported_at_its_key() {
        let text = "version = 1\nparking_lot = { hops = 2, rate = [\"1 Mb/s\", \"2 Mb/s\"] }\n\
                    users.a = { from = \"r0\", to = \"r2\" }\n";
        let mut file = Scenario::parse(text, &[]).expect("is valid").file;
        let function = Some("no function".to_owned());
        let params = PiecewiseLinearParams { function, points: None, count_transmission: false };
        let aqm = AqmParams::PiecewiseLinear(params);
        file.parking_lot.as_mut().expect("is there").mechanisms.0.aqm = aqm;

        let mut reader = Reader::default();
        check::whole(&resolve::resolve(file), &mut reader);
        let paths: Vec<_> = reader.errors.iter().map(|error| error.path.join(".")).collect();
        assert_eq!(paths, ["parking_lot.aqm.function"]);
    }
}
