//! Socket options of this project's congestion controls in the kernel, and their limits.

use tidegate_mechanisms::price::{Encoding, Renewal};
use tidegate_mechanisms::sender::{
    Moves, RateBy, SbrmParams, SenderParams, TcpRmParams, VegasCpParams,
};
use tidegate_mechanisms::units::Demand;

/// Level for setsockopt(), which belongs to no protocol.
pub const LEVEL: i32 = 0xCE;
/// Options at this level, two numbers each (`bpf/flow.bpf.h`).
const GAIN_AND_WILLINGNESS: i32 = 1;
const BASE_AND_HISTORY: i32 = 2;
/// Maximum number of marks that the kernel stores: the bits of a word.
const MOST_REMEMBERED: u32 = 64;
/// Gain for `tg_vegascp`, which has none.
const ANY_GAIN: f64 = 0.2;

/// Returns the socket options of a flow, and their two numbers; none for the kernel's own controls. Fails with the
/// unsupported parameter, and the remedy.
pub fn options(
    control: &SenderParams,
    encoding: Option<Encoding>,
) -> Result<Vec<(i32, [u32; 2])>, String> {
    let name = control.linux_name();
    let (willingness, kappa, more) = match control {
        SenderParams::Sbrm(SbrmParams { willingness_to_pay, kappa, slow_start, initial_kappa }) => {
            if !slow_start || initial_kappa.is_some() {
                return Err(format!(
                    "slow_start = false, or initial_kappa: {name} begins with slow start; simulate it, or remove the key"
                ));
            }
            (*willingness_to_pay, kappa.0, None)
        }
        SenderParams::TcpRm(TcpRmParams { willingness_to_pay, kappa, .. }) => {
            (*willingness_to_pay, kappa.0, None)
        }
        SenderParams::VegasCp(params) => {
            (params.willingness_to_pay, ANY_GAIN, Some(reading_of(params, encoding, name)?))
        }
        _ => return Ok(Vec::new()),
    };
    if willingness.0 > Demand::MOST_IN_KERNELS {
        return Err(format!(
            "willingness_to_pay = {}: {name} has bits for {} at most; simulate it, or offer less",
            willingness.0,
            Demand::MOST_IN_KERNELS
        ));
    }
    let paying = (GAIN_AND_WILLINGNESS, [in_units(kappa, 20), in_units(willingness.0, 20)]);
    Ok([paying].into_iter().chain(more).collect())
}

/// Returns how marks are read.
fn reading_of(
    params: &VegasCpParams,
    encoding: Option<Encoding>,
    name: &str,
) -> Result<(i32, [u32; 2]), String> {
    if params.slow_start {
        return Err(format!("slow_start: {name} begins without; write slow_start = false"));
    }
    if params.rate_by != RateBy::Rtt {
        return Err(format!(
            "rate_by: {name} follows TCP's round-trip time; remove the key, or simulate it"
        ));
    }
    if params.renewal != Renewal::Sliding {
        return Err(format!(
            "renewal: {name} estimates by the last packets; remove the key, or simulate it"
        ));
    }
    if params.moves != Moves::AtOnce {
        return Err(format!(
            "moves: {name} moves the window at once; remove the key, or simulate it"
        ));
    }
    if params.history.0 > MOST_REMEMBERED {
        return Err(format!(
            "history = {}: {name} remembers {MOST_REMEMBERED} packets at most",
            params.history.0
        ));
    }
    let Some(Encoding::OneBit(ln_base)) = encoding else {
        return Err(format!(
            "price_encoding: {name} reads one bit; write price_encoding = {{ kind = \"one-bit\", base = 1.06 }}"
        ));
    };
    Ok((BASE_AND_HISTORY, [in_units(ln_base, 24), params.history.0]))
}

/// Returns a number in units of 2^-`bits`.
fn in_units(number: f64, bits: u32) -> u32 {
    (number * f64::from(1_u32 << bits)) as u32
}

#[cfg(test)]
mod tests {
    use tidegate_mechanisms::units::{Factor, Share, Whole};

    use super::*;

    fn sbrm() -> SbrmParams {
        let (willingness_to_pay, kappa) = (Demand(100.0), Share(0.25));
        SbrmParams { willingness_to_pay, kappa, slow_start: true, initial_kappa: None }
    }

    fn vegas_cp() -> VegasCpParams {
        VegasCpParams {
            willingness_to_pay: Demand(1_000.0),
            history: Whole(50),
            renewal: Renewal::Sliding,
            rate_by: RateBy::Rtt,
            moves: Moves::AtOnce,
            slow_start: false,
        }
    }

    #[test]
    fn a_program_gets_its_numbers_in_the_units_that_it_counts_in() {
        let reported = options(&SenderParams::Sbrm(sbrm()), None);
        assert_eq!(reported, Ok(vec![(1, [1 << 18, 100 << 20])]));
        let base = Some(Encoding::OneBit(0.5));
        let reported = options(&SenderParams::VegasCp(vegas_cp()), base).expect("has parameters");
        assert_eq!(reported[1], (2, [1 << 23, 50]));
        assert_eq!(reported[0].1[1], 1_000 << 20);
    }

    #[test]
    fn what_a_program_cannot_do_is_reported_with_the_remedy() {
        let one_bit = Some(Encoding::OneBit(0.06));
        let cases = [
            (SenderParams::Sbrm(SbrmParams { slow_start: false, ..sbrm() }), None, "slow_start"),
            (
                SenderParams::Sbrm(SbrmParams { initial_kappa: Some(Factor(4.0)), ..sbrm() }),
                None,
                "initial_kappa",
            ),
            (
                SenderParams::Sbrm(SbrmParams { willingness_to_pay: Demand(5e3), ..sbrm() }),
                None,
                "4000 at most",
            ),
            (SenderParams::VegasCp(vegas_cp()), None, "one-bit"),
            (SenderParams::VegasCp(vegas_cp()), Some(Encoding::Maximum), "one-bit"),
            (
                SenderParams::VegasCp(VegasCpParams { slow_start: true, ..vegas_cp() }),
                one_bit,
                "slow_start = false",
            ),
            (
                SenderParams::VegasCp(VegasCpParams { history: Whole(65), ..vegas_cp() }),
                one_bit,
                "64 packets",
            ),
            (
                SenderParams::VegasCp(VegasCpParams { renewal: Renewal::InBlocks, ..vegas_cp() }),
                one_bit,
                "renewal",
            ),
            (
                SenderParams::VegasCp(VegasCpParams { moves: Moves::RoundTripLater, ..vegas_cp() }),
                one_bit,
                "at once",
            ),
            (
                SenderParams::VegasCp(VegasCpParams { rate_by: RateBy::LeastRtt, ..vegas_cp() }),
                one_bit,
                "rate_by",
            ),
        ];
        for (control, encoding, want) in cases {
            let message = options(&control, encoding).expect_err(want);
            assert!(message.contains(want), "{message}: not {want}");
        }
    }
}
