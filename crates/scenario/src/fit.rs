//! Whether mechanisms fit the links that they stand at.

use tidegate_mechanisms::bottleneck::Aqm;
use tidegate_mechanisms::units::{QueueLength, Rate};

use crate::check::nested;
use crate::field::{PathIssue, Reader};
use crate::file::{self, File};
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
        if let Err((key, message)) = Aqm::new(aqm.0.clone(), &place(rate, buffer, file.packet_size))
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

#[cfg(test)]
mod tests {
    use tidegate_mechanisms::bottleneck::{AqmParams, PiecewiseLinearParams};

    use super::*;
    use crate::chosen::Chosen;
    use crate::{Scenario, check, resolve};

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
