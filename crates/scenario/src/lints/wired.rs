//! Lint of mobile networks whose wired links are no faster than the bottleneck.

use crate::field::Reader;
use crate::file::File;
use crate::quantity;

/// Reports that packets are also lost in front of the link that is named as the bottleneck.
pub(super) fn of(file: &File, reader: &mut Reader) {
    let Some(mobile) = &file.mobile else { return };
    let wired = mobile.wired().rate;
    if mobile.line.rate.nominal() < wired {
        return;
    }
    let wired = quantity::RATE.write(wired.as_bps());
    let message = format!(
        "the wired links have {wired} and are no faster, so that packets also wait and are lost in front of the bottleneck: \
         give mobile.wired.rate more"
    );
    reader.nested(&["mobile"], |reader| reader.error_at("rate", message));
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    #[test]
    fn a_bottleneck_that_is_as_fast_as_its_neighbours_is_warned_of() {
        let warnings = |lines: &str| {
            let text = format!(
                "version = 1\n[mobile]\n{lines}\n[users.a]\nfrom = \"G1\"\nto = \"phones1\"\n"
            );
            let scenario = Scenario::parse(&text, &[]).expect("valid");
            scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let want = "mobile.rate: the wired links have 100 Mb/s and are no faster";
        let found = warnings("rate = \"100 Mb/s\"\nbuffer = \"1 BDP\"");
        assert!(found.len() == 1 && found[0].contains(want), "{found:?}");
        let faster =
            warnings("rate = \"100 Mb/s\"\nbuffer = \"1 BDP\"\nwired = { rate = \"1 Gb/s\" }");
        assert_eq!(faster, [""; 0]);
        assert_eq!(warnings("rate = \"50 Mb/s\"\nbuffer = \"1 BDP\""), [""; 0]);
    }
}
