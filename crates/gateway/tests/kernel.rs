//! What tests in the kernel share: random numbers, and the data plane loaded with maps of its own.

use std::path::PathBuf;
use std::{env, fs};

use aya::Ebpf;
use aya::programs::{SchedClassifier, TestRun, TestRunOptions};
use tidegate_gateway::control::now_ns;
use tidegate_gateway::folder;
use tidegate_gateway::maps::{
    Direction, LAYOUT, Maps, Pins, SIGNAL_WORDS, Sizes, signal_word, word,
};
use tidegate_gateway::programs;
use tidegate_gateway::settings::Settings;

/// Whether a test is skipped, and says why.
pub fn is_skipped() -> bool {
    let reason = if programs::OBJECT.is_empty() {
        "compiled without clang"
    } else if !rustix::process::geteuid().is_root() {
        "only root may load programs"
    } else {
        return false;
    };
    eprintln!("skipped: {reason}");
    true
}

/// Entries of the maps that tests begin with.
pub const SIZES: Sizes = Sizes { learned: 1_024, listed: 64, addresses: 64 };

/// Random numbers (SplitMix64).
pub struct Draws(u64);

impl Draws {
    pub fn new(seed: u64) -> Draws {
        Draws(seed)
    }
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, bound: u64) -> u64 {
        self.word() % bound
    }
    /// Of all sizes up to 2 to this power.
    pub fn below_power(&mut self, power: u64) -> u64 {
        let bits = self.below(power) + 1;
        self.below(1 << bits)
    }
    pub fn share(&mut self) -> f64 {
        self.below(1 << 20) as f64 / (1u64 << 20) as f64
    }
}

/// The data plane, attached to nothing.
pub struct Loaded {
    object: Ebpf,
    pub maps: Maps,
    pins: Pins,
    mounted: PathBuf,
}

impl Loaded {
    /// With these settings, and a device that has this many bytes before the IP header.
    pub fn new(name: &str, settings: &Settings, link_header: u64) -> Loaded {
        let folder = env::temp_dir().join(format!("tidegate-{}-{name}", std::process::id()));
        let (mounted, pins) = (folder.join("bpf"), Pins::new(&folder.join("bpf/pins")));
        folder::make(&pins).expect("root may mount");
        let object = programs::load(&pins, SIZES).expect("the kernel takes it");
        let mut maps = Maps::open(&pins).expect("they can be opened").expect("they are there");
        let mut words = settings.words();
        words[word::READY] = LAYOUT;
        words[word::ENFORCE] = 1;
        words[word::LINK_HEADER] = link_header;
        maps.set_settings(words).expect("the map takes it");
        Loaded { object, maps, pins, mounted }
    }

    /// Where the maps are pinned.
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// Loads the programs again, with maps of these sizes where a pin is missing.
    pub fn load_again(&mut self, sizes: Sizes) {
        self.object = programs::load(&self.pins, sizes).expect("the kernel takes it");
        self.maps = Maps::open(&self.pins).expect("they can be opened").expect("they are there");
    }

    /// Sets p of both directions for a number of nanoseconds.
    pub fn set_signal(&mut self, minus_log2_p_q24: u64, valid_ns: u64) {
        let mut words = [0; SIGNAL_WORDS];
        (words[0], words[1]) = (minus_log2_p_q24, now_ns() + valid_ns);
        words[signal_word::ALIVE] = now_ns() + valid_ns;
        for direction in Direction::ALL {
            self.maps.set_signal(direction, words).expect("the map takes it");
        }
    }

    /// Hands a program a packet: what it returns, and the packet after it.
    pub fn run(&mut self, direction: Direction, packet: &[u8]) -> (i32, Vec<u8>) {
        self.try_run(direction, packet).expect("it runs")
    }

    /// The same; `None` where the kernel takes no such packet for a test, such as one of IPv4 without a whole header.
    pub fn try_run(&mut self, direction: Direction, packet: &[u8]) -> Option<(i32, Vec<u8>)> {
        let (name, _) = programs::PROGRAMS[direction as usize];
        let program: &mut SchedClassifier =
            self.object.program_mut(name).expect("it is there").try_into().expect("tc");
        let mut after = vec![0; packet.len()];
        let result = program.test_run(TestRunOptions {
            data_in: Some(packet),
            data_out: Some(&mut after),
            ..TestRunOptions::new()
        });
        match result {
            Ok(result) => Some((result.return_value as i32, after)),
            Err(error) => {
                assert!(format!("{error:?}").contains("InvalidInput"), "{error:?}");
                None
            }
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.pins.remove_all();
        let _ = rustix::mount::unmount(&self.mounted, rustix::mount::UnmountFlags::DETACH);
        let _ = fs::remove_dir_all(self.mounted.parent().expect("it has one"));
    }
}
