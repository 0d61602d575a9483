use proptest::prelude::*;
use tidegate_mechanisms::fixed_point::MAX_ACTIVITY;
use tidegate_scenario::Scenario;

use super::*;
use crate::scenario_text::{self, About};
use crate::settings::Settings;

const REFERENCE_BPS: u64 = 50_000;

fn customer(number: u32, rate_bps: f64, activity: f64) -> SampleOfCustomer {
    SampleOfCustomer { who: Who::Listed(number), reference_bps: REFERENCE_BPS, rate_bps, activity }
}

/// 20 Mb/s with a queue of 30 ms.
fn full(customers: Vec<SampleOfCustomer>) -> Sample {
    let delay_s = Some(0.03);
    Sample { seconds: 1.0, delay_s, rate_bps: 20e6, backlog_bytes: 75_000.0, customers }
}

fn written(capture: &Capture) -> String {
    let settings = Settings::read("", &[]).expect("defaults").words();
    let picture = capture.picture().expect("somebody sends");
    let direction = Direction::Upload;
    let about = About { direction, mode: Mode::Observe, settings, target_ns: 0 };
    scenario_text::write(&picture, &about)
}

#[test]
fn customers_of_a_full_link_have_flows_in_the_ratio_of_their_rates() {
    let mut capture = Capture::default();
    for second in 0..60 {
        let mut customers =
            vec![customer(0, 12e6, 7.9), customer(1, 1.2e6, 4.6), customer(2, 1.21e6, 4.6)];
        customers.push(customer(3, 20e3, 0.0));
        // 500 kB in two seconds of ten.
        if second % 10 < 2 {
            customers.push(customer(4, 2e6, 3.0));
        }
        capture.add(&full(customers));
    }
    let picture = capture.picture().expect("somebody sends");
    assert_eq!((picture.rate_bps, picture.is_full, picture.customers), (20e6, true, 5));
    assert_eq!((picture.queue_bytes, picture.delays_s), (75_000.0, [0.03; 2]));
    let [light, heavy, bursts, background] = &picture.groups[..] else { panic!("{picture:?}") };
    assert_eq!((light.count, light.traffic), (2, Traffic::Flows(1)));
    assert_eq!((heavy.count, heavy.activity, heavy.traffic), (1, 7, Traffic::Flows(10)));
    let Traffic::Bursts { bits, pause_s } = bursts.traffic else { panic!("{bursts:?}") };
    assert_eq!((bits, pause_s), (4e6, 8.0));
    assert_eq!((background.traffic, background.rate_bps), (Traffic::Background, 20e3));
}

#[test]
fn customers_of_a_link_that_was_never_full_keep_their_rates() {
    let mut capture = Capture::default();
    for _ in 0..10 {
        let customers = vec![customer(0, 12e6, 7.9), customer(1, 1.2e6, 4.6)];
        capture.add(&Sample { delay_s: Some(0.0), ..full(customers) });
    }
    let picture = capture.picture().expect("somebody sends");
    assert_eq!((picture.rate_bps, picture.is_full), (13.2e6, false));
    assert!(picture.groups.iter().all(|group| group.traffic == Traffic::Rate), "{picture:?}");
    let text = written(&capture);
    assert!(text.contains("its rate is not known"), "{text}");
    assert!(Scenario::parse(&text, &[]).is_ok(), "{text}");
}

#[test]
fn nobody_makes_no_scenario() {
    let mut capture = Capture::default();
    capture.add(&full(Vec::new()));
    assert_eq!(capture.picture(), None);
}

#[test]
fn reference_rates_are_those_of_the_programs() {
    let words = Settings::read("", &[]).expect("defaults").words();
    assert_eq!(rate_bps(words[word::METER]), 50_000);
    assert_eq!(words[word::METER + 3] / MAX_ACTIVITY, 600_000_000);
}

proptest! {
    /// Whatever is seen: the file is one, without warnings, and has no address.
    #[test]
    fn what_is_written_is_a_scenario(
        samples in prop::collection::vec(
            prop::collection::vec((0u32..40, 0.0..9.0f64, 0.0..40.0f64), 0..20), 1..30),
        delay_s in prop::option::of(0.0..2.0f64),
        link in 0.0..10.0f64,
    ) {
        let mut capture = Capture::default();
        for sample in samples {
            let customers = sample.into_iter().map(|(number, magnitude, activity)| {
                let address = crate::prefix::mapped([198, 51, 100, number as u8].into());
                let one = customer(number, libm::exp10(magnitude), activity);
                if number % 2 == 0 { one } else { SampleOfCustomer { who: Who::Learned(address), ..one } }
            });
            let rate_bps = libm::exp10(link);
            capture.add(&Sample { delay_s, rate_bps, ..full(customers.collect()) });
        }
        if capture.picture().is_some() {
            let text = written(&capture);
            let read = Scenario::parse(&text, &[]);
            prop_assert!(read.is_ok(), "{:?}\n{text}", read.err());
            prop_assert!(!text.contains("198.51"));
        }
    }
}
