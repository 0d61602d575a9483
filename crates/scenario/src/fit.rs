//! Whether mechanisms fit the links that they stand at.

use tidegate_mechanisms::bottleneck::Aqm;
use tidegate_mechanisms::parameters::Mistake;
use tidegate_mechanisms::units::{Bytes, QueueLength, Rate};

use crate::check::nested;
use crate::field::{PathIssue, Reader};
use crate::file::{self, Differentiation, File, Stages, User};
use crate::plan::place;

/// Parameters of an AQM may be good by themselves and not fit the link.
pub(crate) fn aqms(file: &File, reader: &mut Reader) {
    let mut fits = |path: &[&str], aqm: &file::Aqm, rate: Rate, buffer: QueueLength| {
        let path = [path, &["aqm"]].concat();
        let is_here = |mistake: &PathIssue| {
            path.len() <= mistake.path.len() && path.iter().zip(&mistake.path).all(|(a, b)| a == b)
        };
        if reader.mistakes.iter().any(is_here) {
            // The parameters are not even good by themselves, or another hop has told.
            return;
        }
        if let Err((key, message)) =
            Aqm::new(aqm.0.clone(), &place(rate, buffer, file.packet_size, file.price_encoding()))
        {
            nested(reader, &path, |reader| reader.wrong_at(key, message));
        }
    };
    if let Some(bottleneck) = &file.bottleneck {
        fits(&["bottleneck"], &bottleneck.aqm, bottleneck.rate, bottleneck.buffer);
    }
    if let Some(lot) = &file.parking_lot {
        let mut hops: Vec<_> =
            (0..lot.hops.count()).map(|hop| (lot.rate.at(hop), lot.buffer.at(hop))).collect();
        hops.dedup();
        hops.iter().for_each(|(rate, buffer)| fits(&["parking_lot"], &lot.aqm, *rate, *buffer));
    }
    for (name, link) in file.links.iter().flat_map(|links| &links.entries) {
        fits(&["links", name], &link.aqm, link.rate, link.buffer);
    }
}

/// Token buckets may be good by themselves and not hold one of the packets that there are.
pub(crate) fn buckets(file: &File, reader: &mut Reader) {
    let users = &file.users.entries;
    let size = |user: &User| user.packet_size.unwrap_or(file.packet_size);
    let largest = users.iter().map(|(_, user)| size(user)).max().unwrap_or(file.packet_size);
    let mut link = |path: &[&str], differentiation: &Differentiation, ends: [&Stages; 2]| {
        let path = |last: &'static str| [path, &[last]].concat();
        tell(&path("differentiation"), differentiation.0.misfit(largest), reader);
        stages(&path("entry"), ends[0], largest, reader);
        stages(&path("exit"), ends[1], largest, reader);
    };
    if let Some(bottleneck) = &file.bottleneck {
        let ends = [&bottleneck.entry, &bottleneck.exit];
        link(&["bottleneck"], &bottleneck.differentiation, ends);
    }
    if let Some(lot) = &file.parking_lot {
        link(&["parking_lot"], &lot.differentiation, [&lot.entry, &lot.exit]);
    }
    for (name, own) in file.links.iter().flat_map(|links| &links.entries) {
        link(&["links", name], &own.differentiation, [&own.entry, &own.exit]);
    }
    for (name, user) in users {
        stages(&["users", name, "entry"], &user.entry, size(user), reader);
        stages(&["users", name, "exit"], &user.exit, size(user), reader);
    }
}

fn stages(path: &[&str], stages: &Stages, packet: Bytes, reader: &mut Reader) {
    for (number, stage) in stages.0.iter().enumerate() {
        let number = number.to_string();
        let path = [path, &[number.as_str()]].concat();
        tell(&path, stage.0.misfit(packet), reader);
    }
}

fn tell(path: &[&str], misfit: Option<Mistake>, reader: &mut Reader) {
    if let Some((key, message)) = misfit {
        nested(reader, path, |reader| reader.wrong_at(key, message));
    }
}

#[cfg(test)]
mod tests {
    use tidegate_mechanisms::bottleneck::{AqmParams, PiecewiseLinearParams};

    use super::*;
    use crate::chosen::Chosen;
    use crate::{Scenario, check, resolve};

    #[test]
    fn a_bucket_that_holds_no_packet_is_told_at_its_depth() {
        let text = "version = 1\nusers.a = {}\n[bottleneck]\nrate = \"1 Mb/s\"\n\
                    differentiation = { kind = \"icp\", depth = \"1499 B\" }\n";
        let mistakes = Scenario::parse(text, &[]).expect_err("is too small");
        let told: Vec<_> = mistakes.iter().map(|mistake| mistake.to_string()).collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("bottleneck.differentiation.depth"), "{told:?}");
        assert!(told[0].contains("1499 B do not hold a packet, of 1500 B"), "{told:?}");
        assert!(Scenario::parse(&text.replace("1499", "1500"), &[]).is_ok());
    }

    /// What an AQM's constructor refuses is told at its key, and once.
    #[test]
    fn an_aqm_that_does_not_fit_its_link_is_told_at_its_key() {
        let text = "version = 1\nparking_lot = { hops = 2, rate = [\"1 Mb/s\", \"2 Mb/s\"] }\n\
                    users.a = { from = \"r0\", to = \"r2\" }\n";
        let mut file = Scenario::parse(text, &[]).expect("is valid").file;
        let function = Some("no function".to_owned());
        let params = PiecewiseLinearParams { function, points: None, count_transmission: false };
        let aqm = AqmParams::PiecewiseLinear(params);
        file.parking_lot.as_mut().expect("is there").aqm = Chosen(aqm);

        let mut reader = Reader::default();
        check::whole(&resolve::resolve(file), &mut reader);
        let paths: Vec<_> = reader.mistakes.iter().map(|mistake| mistake.path.join(".")).collect();
        assert_eq!(paths, ["parking_lot.aqm.function"]);
    }
}
