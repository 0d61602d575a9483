//! What the data plane costs for a packet, beside a program that only reads the clock, finds the customer by a hash and
//! counts: `make gateway-bars ARGS="--only cost"`. Takes root. Prints a JSON object for each distribution of packets over
//! 100,000 customers.

use std::{env, fs};

use aya::Ebpf;
use aya::maps::{Array, HashMap};
use aya::programs::{SchedClassifier, TestRun, TestRunOptions};
use tidegate_gateway::control::now_ns;
use tidegate_gateway::customer_file::Record;
use tidegate_gateway::folder;
use tidegate_gateway::maps::{Direction, LAYOUT, Maps, Pins, SIGNAL_WORDS, word};
use tidegate_gateway::prefix::{Prefix, mapped};
use tidegate_gateway::programs::{COST, load_maps};
use tidegate_gateway::register::Import;
use tidegate_gateway::reload;
use tidegate_gateway::settings::Settings;
use tidegate_mechanisms::fixed_point::minus_log2_q24;

const CUSTOMERS: u32 = 100_000;
const DRAWS: u32 = 1 << 20;
const HOUR_NS: u64 = 3_600_000_000_000;
/// Each program is measured so often, in turn; the least counts, which other work disturbs least.
const ROUNDS: usize = 9;

fn main() {
    let folder = env::temp_dir().join(format!("tidegate-cost-{}", std::process::id()));
    let pins = Pins::new(&folder.join("bpf/pins"));
    folder::make(&pins).expect("root may mount a bpffs");
    let outcome = measure(&pins);
    pins.remove_all();
    let _ = rustix::mount::unmount(folder.join("bpf"), rustix::mount::UnmountFlags::DETACH);
    let _ = fs::remove_dir_all(&folder);
    outcome.expect("it is measured");
}

fn measure(pins: &Pins) -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::read("", &[])?;
    let records = (0..CUSTOMERS).map(|number| Record {
        line: 0,
        id: number.to_string(),
        prefixes: vec![Prefix::host(address(number).into())],
        reference_rate: None,
        ceiling: None,
    });
    let wanted = reload::wanted(&settings, records.collect());
    let mut object = load_maps(COST, pins, wanted.sizes(16)?)?;
    let mut maps = Maps::open(pins)?.expect("they were just loaded");
    Import::plan(&maps, &wanted, maps.names.len())?.apply(&mut maps)?;
    let mut words = settings.words();
    words[word::READY] = LAYOUT;
    words[word::ENFORCE] = 1;
    words[word::LINK_HEADER] = 14;
    words[word::HAS_FILE] = 1;
    maps.set_settings(words)?;
    // As the box has them.
    let own = ["10.255.0.1", "192.0.2.1", "2001:db8:1::1", "2001:db8:2::1"];
    let own: Result<Vec<_>, _> = own.into_iter().map(Prefix::parse).collect();
    maps.set_exempt(&own?)?;
    let mut signal = [0; SIGNAL_WORDS];
    (signal[0], signal[1]) = (minus_log2_q24(0.01), now_ns() + HOUR_NS);
    maps.set_signal(Direction::Upload, signal)?;
    let mut least: HashMap<_, [u8; 16], [u64; 3]> =
        object.take_map("least").expect("it is there").try_into()?;
    for number in 0..CUSTOMERS {
        least.insert(mapped(address(number).into()), [0; 3], 0)?;
    }
    let mut draws: Array<_, u32> = object.take_map("draws").expect("it is there").try_into()?;
    for name in ["tidegate_draw", "tidegate_least", "tidegate_full"] {
        program(&mut object, name)?.load()?;
    }
    for distribution in ["uniform", "Zipf"] {
        let mut state = 1;
        for place in 0..DRAWS {
            let customer = match distribution {
                "uniform" => (share(&mut state) * f64::from(CUSTOMERS)) as u32,
                // Of exponent 1: the logarithm of the rank is uniform.
                _ => libm::exp(share(&mut state) * libm::log(f64::from(CUSTOMERS))) as u32 - 1,
            };
            // Neighbours in rank are none in memory.
            let scattered = (u64::from(customer) * 77_777 % u64::from(CUSTOMERS)) as u32;
            draws.set(place, u32::from_ne_bytes(address(scattered)), 0)?;
        }
        let mut ns = [f64::MAX; 3];
        for _ in 0..ROUNDS {
            for (least, name) in
                ns.iter_mut().zip(["tidegate_draw", "tidegate_least", "tidegate_full"])
            {
                *least = least.min(run(&mut object, name)?);
            }
        }
        let [draw, least, full] = ns;
        println!(
            "{}",
            serde_json::json!({
                "distribution": distribution,
                "least_ns": least - draw,
                "full_ns": full - draw,
                "ratio": (full - draw) / (least - draw),
            })
        );
    }
    Ok(())
}

fn address(number: u32) -> [u8; 4] {
    let [_, a, b, c] = number.to_be_bytes();
    [10, a, b, c]
}

/// From 0 to 1 (SplitMix64).
fn share(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

fn program<'a>(
    object: &'a mut Ebpf,
    name: &str,
) -> Result<&'a mut SchedClassifier, aya::programs::ProgramError> {
    object.program_mut(name).expect("it is there").try_into()
}

/// Mean time of a packet, in nanoseconds.
fn run(object: &mut Ebpf, name: &str) -> Result<f64, Box<dyn std::error::Error>> {
    let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 80];
    packet.extend([0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 192, 0, 2, 9]);
    packet.resize(94, 0);
    let options = TestRunOptions { data_in: Some(&packet), repeat: DRAWS, ..TestRunOptions::new() };
    let result = program(object, name)?.test_run(options)?;
    Ok(result.duration.as_nanos() as f64)
}
