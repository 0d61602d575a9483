//! Checks that queues inside tunnels hold packets with tunnel headers.

use std::collections::BTreeMap;

use tidegate_mechanisms::stage::StageParams;
use tidegate_mechanisms::units::{Bytes, QueueLength};

use crate::field::Reader;
use crate::file::File;
use crate::network::Network;

/// Queues that are too small, by position in the file: capacity, and largest packet with and without tunnel headers.
#[derive(Default)]
pub(super) struct TooSmall(BTreeMap<Vec<String>, (Bytes, Bytes, Bytes)>);

impl TooSmall {
    /// Checks the links of a path for packets of this size that have passed these stages before.
    pub(super) fn see(
        &mut self,
        (file, network): (&File, &Network),
        packet: Bytes,
        before: &[StageParams],
        path: &[u32],
    ) {
        let mut overhead = beyond(None, before);
        for link in path.iter().map(|number| &network.links[*number as usize]) {
            overhead = beyond(overhead, &link.ingress);
            if let (Some(overhead), QueueLength::Bytes(room)) = (overhead, link.buffer) {
                let inside = packet + overhead;
                // A queue too small even without tunnel headers is reported elsewhere.
                if (packet..inside).contains(&room) {
                    let largest = self.0.entry(place(file, link.name.as_str())).or_default();
                    *largest = (*largest).max((room, inside, packet));
                }
            }
            overhead = beyond(overhead, &link.egress);
        }
    }

    /// Reports all of them.
    pub(super) fn report(self, reader: &mut Reader) {
        for (path, (room, inside, packet)) in self.0 {
            let message = format!(
                "{} B do not hold a packet of {} B, which has {} B in its tunnel: give at least that, or packets of at most \
                 {} B (packet_size)",
                room.get(),
                packet.get(),
                inside.get(),
                room.get() + packet.get() - inside.get(),
            );
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            reader.nested(&path, |reader| reader.error_at("buffer", message));
        }
    }
}

/// Returns the length added to packets behind these stages, if they are in a tunnel there.
fn beyond(before: Option<Bytes>, stages: &[StageParams]) -> Option<Bytes> {
    let ends = stages.iter().filter_map(StageParams::tunnel_end);
    ends.fold(before, |_, end| end.interval.is_none().then_some(end.overhead))
}

/// Returns the position of a link's queue in the file.
fn place(file: &File, link: &str) -> Vec<String> {
    let link = link.strip_suffix(".reverse").unwrap_or(link);
    let place = match () {
        () if file.bottleneck.is_some() => vec!["bottleneck"],
        () if file.parking_lot.is_some() => vec!["parking_lot"],
        () if file.mobile.is_none() => vec!["links", link],
        () if link == "bottleneck" => vec!["mobile"],
        () if link.starts_with("cell") => vec!["mobile", "radio"],
        () => vec!["mobile", "wired"],
    };
    place.into_iter().map(str::to_owned).collect()
}
