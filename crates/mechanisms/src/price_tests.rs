use proptest::prelude::*;

use super::*;
use crate::parameters::Parameters;

const ONE_BIT: OneBitParams = OneBitParams { base: Factor(1.06) };

fn four_bit() -> Encoding {
    let [base_1, base_2, base_3, base_4] =
        [1.06, 1.007, 1.001, 1.00015].map(|base| Some(Factor(base)));
    (&EncodingParams::FourBit(FourBitParams { base_1, base_2, base_3, base_4 })).into()
}

proptest! {
    /// Passing two links unmarked is as likely as passing one whose price is their sum; explicit prices add.
    #[test]
    fn prices_add_up_along_the_path(a in 0.0..500.0f64, b in 0.0..500.0f64, ln_base in 1e-4..1.0f64) {
        let one_bit = Encoding::OneBit(ln_base);
        let pass = |price: f64| 1.0 - one_bit.mark_probability(price);
        prop_assert!((pass(a) * pass(b) - pass(a + b)).abs() < 1e-12);
        let never = || panic!("explicit prices draw nothing");
        let word = Encoding::Explicit.write(Encoding::Explicit.write(0, a, never), b, never);
        prop_assert!((f64::from(f32::from_bits(word)) - (a + b)).abs() <= 1e-6 * (a + b));
    }

    /// For any history of marks: the estimate is the price with that marking probability.
    #[test]
    fn an_estimate_is_the_price_that_marks_as_many(marked in 0..50u32) {
        let encoding = Encoding::from(&EncodingParams::OneBit(ONE_BIT));
        let mut path = PathPrice::new(encoding, 50);
        path.on_ack(50, marked, 0);
        let price = path.get().expect("50 packets were reported");
        prop_assert!((encoding.mark_probability(price) - f64::from(marked) / 50.0).abs() < 1e-12);
    }
}

/// By hand: φ = 1.06 and λ = 10 mark 1 − 1.06⁻¹⁰ = 0.4416.
#[test]
fn marks_follow_the_price_by_the_base() {
    let encoding = Encoding::from(&EncodingParams::OneBit(ONE_BIT));
    assert!((encoding.mark_probability(10.0) - 0.441_605_223).abs() < 1e-9);
    assert_eq!(encoding.mark_probability(0.0), 0.0);
    assert_eq!(
        [0.0, 1.0, 3.0].map(|price| Encoding::Maximum.mark_probability(price)),
        [0.0, 1.0, 1.0]
    );
}

#[test]
fn a_history_forgets_what_is_older() {
    let mut path = PathPrice::new(Encoding::Maximum, 4);
    assert_eq!(path.get(), None);
    path.on_ack(3, 3, 0);
    path.on_ack(4, 1, 0);
    assert_eq!(path.get(), Some(0.25));
    path.on_ack(4, 4, 0);
    assert_eq!(path.get(), Some(1.0));
    let mut path = PathPrice::new(Encoding::NATURAL, 4);
    path.on_ack(4, 4, 0);
    assert_eq!(path.get(), Some(libm::log(8.0)), "as if half a packet were not marked");
}

#[test]
fn an_estimate_by_blocks_stands_until_the_next_is_full() {
    let mut path = PathPrice::new(Encoding::Maximum, 4).renewed(Renewal::InBlocks);
    let after = [(3, 3), (1, 0), (3, 0), (2, 2), (3, 3)].map(|(delivered, marked)| {
        path.on_ack(delivered, marked, 0);
        path.get()
    });
    // Blocks: three of four marked; the next three and the first of two, which is marked; then the fourth to the
    // seventh.
    assert_eq!(after, [None, Some(0.75), Some(0.75), Some(0.25), Some(1.0)]);
}

#[test]
fn what_is_gathered_of_several_segments_is_reported_at_once() {
    let mut explicit = Gathered::new(Encoding::Explicit);
    assert_eq!(explicit.take(), 0);
    [3.0f32, 5.0].iter().for_each(|price| explicit.add(price.to_bits()));
    let mut path = PathPrice::new(Encoding::Explicit, 1);
    path.on_ack(2, 0, explicit.take());
    assert_eq!(path.get(), Some(4.0));
    assert_eq!(explicit.take(), 0);
}

/// At a price of 100 the second bit is set in half of all packets (1.007⁻¹⁰⁰ = 0.498); the first is set in nearly all.
#[test]
fn four_bits_are_read_where_marks_are_nearest_to_one_half() {
    let encoding = four_bit();
    let (mut gathered, mut path) = (Gathered::new(encoding), PathPrice::new(encoding, 400));
    for packet in 0..400 {
        let draw = (f64::from(packet) + 0.5) / 400.0;
        gathered.add(encoding.write(0, 100.0, || draw));
        if packet % 3 == 0 {
            path.on_ack(0, 0, gathered.take());
        }
    }
    path.on_ack(0, 0, gathered.take());
    let price = path.get().expect("400 packets were reported");
    assert!((price - 100.0).abs() < 1.0, "{price}");
    assert_eq!(encoding.write(0b1010, 0.0, || panic!("nothing to draw")), 0b1010);
}

fn keys(errors: Vec<ParameterError>) -> Vec<&'static str> {
    errors.into_iter().map(|error| error.0).collect()
}

#[test]
fn bases_not_above_one_or_not_descending_are_errors() {
    assert_eq!(keys(ONE_BIT.errors()), Vec::<&str>::new());
    assert_eq!(keys(OneBitParams { base: Factor(1.0) }.errors()), ["base"]);
    let [base_1, base_2, base_3, base_4] = [1.06, 1.07, 1.001, 0.5].map(|base| Some(Factor(base)));
    let params = FourBitParams { base_1, base_2, base_3, base_4 };
    assert_eq!(keys(params.errors()), ["base_2", "base_4"]);
}

/// Fewer than four bases are an error: with defaults for the others their order would depend on chance.
#[test]
fn bases_are_given_together() {
    let params = |bases: [Option<f64>; BITS]| {
        let [base_1, base_2, base_3, base_4] = bases.map(|base| base.map(Factor));
        FourBitParams { base_1, base_2, base_3, base_4 }
    };
    let three = params([Some(9.0), Some(3.0), Some(1.5), None]);
    assert_eq!(keys(three.errors()), ["base_4"]);
    assert_eq!(
        keys(params([None, Some(3.0), None, None]).errors()),
        ["base_1", "base_3", "base_4"]
    );
    let none = params([None; BITS]);
    assert!(none.errors().is_empty());
    assert_eq!(none.bases(), [1.06, 1.007, 1.001, 1.00015]);
}

/// The price of a virtual queue is 0 or 1: encoded explicitly it counts the links with price 1; as a maximum, two of
/// them mark as one does.
#[test]
fn links_are_counted_explicitly_and_not_by_the_maximum() {
    let never = || panic!("nothing to draw");
    let twice = Encoding::Explicit.write(Encoding::Explicit.write(0, 1.0, never), 1.0, never);
    assert_eq!(f32::from_bits(twice), 2.0);
    let mut path = PathPrice::new(Encoding::Explicit, 1);
    path.on_ack(1, 0, twice);
    assert_eq!(path.get(), Some(2.0));
    let mut path = PathPrice::new(Encoding::Maximum, 1);
    path.on_ack(1, 1, Encoding::Maximum.write(0, 1.0, never));
    assert_eq!(path.get(), Some(1.0));
}
