//! Lints of distributions of which a part is cut off, so that their mean is another one.

use crate::field::Reader;
use crate::file::{File, RoundTrip, User};
use crate::layout::rest_of_round_trip;
use crate::network::Network;
use crate::traffic::{PacketStream, Variation};

/// Relative deviation of a mean from which there is a lint.
const MUCH: f64 = 0.02;
/// Quantiles over which a mean is taken.
const STEPS: u32 = 10_000;
/// Headers of IPv4 and UDP, which every packet has, bytes.
const LEAST_BYTES: f64 = 28.0;

/// Reports all of these lints.
pub(super) fn of(file: &File, network: &Network, reader: &mut Reader) {
    for (name, user) in &file.users.entries {
        reader.nested(&["users", name], |reader| {
            let full = user.packet_size.unwrap_or(file.packet_size);
            if let Some(stream) = user.traffic.0.packet_stream(full) {
                packets(&stream, reader);
            }
            if let Some(round_trip) = &user.round_trip {
                round_trips(file, user, network, round_trip, reader);
            }
        });
    }
}

fn packets(stream: &PacketStream, reader: &mut Reader) {
    let sizes = 1.0 + cut_off(&stream.sizes, 8.0 * LEAST_BYTES / stream.mean_bits);
    let intervals = 1.0 + cut_off(&stream.intervals, 0.0);
    let change = sizes / intervals - 1.0;
    if change.abs() > MUCH {
        let message = format!(
            "a flow sends {:.0} % {} than its rate says: packets have at least {LEAST_BYTES} B, and no interval is negative; \
             let sizes and intervals vary less",
            100.0 * change.abs(),
            if change > 0.0 { "more" } else { "less" },
        );
        reader.error_at("traffic", message);
    }
}

fn round_trips(
    file: &File,
    user: &User,
    network: &Network,
    round_trip: &RoundTrip,
    reader: &mut Reader,
) {
    let (least, mean) = (rest_of_round_trip(file, network, user), round_trip.mean);
    let change = cut_off(&round_trip.varies, least.as_secs() / mean.as_secs());
    if change > MUCH {
        let message = format!(
            "the rest of the path takes {:.3} ms, and users with less have that, so that the mean is {:.3} ms",
            1e3 * least.as_secs(),
            1e3 * mean.as_secs() * (1.0 + change),
        );
        reader.error_at("round_trip", message);
    }
}

/// Returns by how much the mean of a quantity rises, as a share of it, where no value is below `least` times it.
fn cut_off(variation: &Variation, least: f64) -> f64 {
    let at = |step: u32| (f64::from(step) + 0.5) / f64::from(STEPS);
    let sum: f64 =
        (0..STEPS).map(|step| (least - variation.unbounded_quantile(at(step))).max(0.0)).sum();
    sum / f64::from(STEPS)
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn warnings(user: &str) -> Vec<String> {
        let text = format!(
            "version = 1\n[bottleneck]\nrate = \"10 Mb/s\"\ndelay = \"10 ms\"\n[users.a]\n{user}\n"
        );
        let scenario = Scenario::parse(&text, &[]).expect("valid");
        scenario.warnings().iter().map(ToString::to_string).collect()
    }

    fn udp(more: &str) -> Vec<String> {
        warnings(&format!("traffic = {{ kind = \"udp\", rate = \"2 Mb/s\", {more} }}"))
    }

    /// Sizes of 40 B on average, of which those below 28 B, 1 − e^(−0.7) = 50 %, have 28 B: the mean is 28 + 40 e^(−0.7), 19.9 % more.
    #[test]
    fn packets_below_their_headers_raise_the_rate() {
        let found = udp("size = \"40 B\", sizes = \"exponential\"");
        assert!(found.len() == 1 && found[0].contains("sends 20 % more"), "{found:?}");
        assert_eq!(udp("size = \"1200 B\", sizes = \"exponential\""), [""; 0]);
        assert_eq!(udp("size = \"1200 B\", sizes = { kind = \"gumbel\", scale = 0.25 }"), [""; 0]);
    }

    #[test]
    fn negative_intervals_lower_it() {
        let found = udp("intervals = { kind = \"gumbel\", scale = 1.0 }");
        assert!(found.len() == 1 && found[0].contains("less than its rate"), "{found:?}");
        assert_eq!(udp("intervals = { kind = \"pareto\", shape = 1.05 }"), [""; 0]);
    }

    /// Of 25 ms on average, none is below 20 ms: 20 + 25 e^(−0.8) = 31.2 ms.
    #[test]
    fn round_trips_below_that_of_the_path_raise_the_mean() {
        let found =
            warnings("count = 100\nround_trip = { mean = \"25 ms\", varies = \"exponential\" }");
        assert!(found.len() == 1 && found[0].contains("the mean is 31.2"), "{found:?}");
        let fine = "count = 100\nround_trip = { mean = \"80 ms\", varies = { kind = \"lognormal\", sigma = 0.5 } }";
        assert_eq!(warnings(fine), [""; 0]);
    }
}
