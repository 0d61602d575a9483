//! Transfers of a given size, each on its own connection: one, or several in sequence.

use tidegate_mechanisms::units::{Bytes, Time};
use tidegate_scenario::plan::{FlowPlan, PausePlan, Traffic, WritesPlan};

use super::{Application, Carrier, End, System, TransferRecord};
use crate::connections::ConnectionId;

/// Parameters and progress of the transfers.
pub struct Transfer {
    size: Bytes,
    pause: Option<PausePlan>,
    writes: Option<WritesPlan>,
    current: Option<CurrentTransfer>,
    transferred: u64,
}

struct CurrentTransfer {
    id: ConnectionId,
    start: Time,
    to_write: Bytes,
}

impl Application for Transfer {
    const NAME: &'static str = "pause";

    fn of(flow: &FlowPlan) -> Option<Self> {
        let Traffic::Transfer(plan) = &*flow.traffic else { return None };
        let (size, pause, writes) = (plan.size, plan.pauses(), plan.writes());
        Some(Transfer { size, pause, writes, current: None, transferred: 0 })
    }

    fn start(&mut self, system: &mut System) {
        let id = system.open(End::Sender);
        self.current = Some(CurrentTransfer { id, start: system.now(), to_write: self.size });
        self.write(system);
    }

    /// Handles a wake-up: the next write, or the next transfer.
    fn wake(&mut self, system: &mut System) {
        if self.current.is_some() {
            self.write(system);
        } else {
            self.start(system);
        }
    }

    fn closed(&mut self, id: ConnectionId, system: &mut System) {
        let Some(CurrentTransfer { start, .. }) = self.current.take_if(|ours| ours.id == id) else {
            return;
        };
        self.transferred += 1;
        let took = system.now() - start;
        if let Some(pause) = self.pause {
            let length = system.random().pause(pause, took);
            system.wake_at(system.now() + length);
        }
        let (completion, set_up) = (Some(took), system.set_up(id, start));
        // Less than the size if the sender has given up.
        let size = self.size.min(system.carried(id));
        system.record(TransferRecord { start, size, completion, set_up });
    }

    fn is_awaited(&self) -> bool {
        self.pause.is_none() && self.transferred == 0
    }

    fn unfinished(&self) -> Vec<TransferRecord> {
        let record = |ours: &CurrentTransfer| TransferRecord {
            start: ours.start,
            size: self.size,
            completion: None,
            set_up: None,
        };
        self.current.iter().map(record).collect()
    }
}

impl Transfer {
    /// Writes the next piece, or all data.
    fn write(&mut self, system: &mut System) {
        let Some(ours) = &mut self.current else { return };
        match self.writes {
            Some(writes) if writes.size < ours.to_write => {
                ours.to_write = Bytes::new(ours.to_write.get() - writes.size.get());
                system.wake_at(system.now() + writes.interval);
                system.write(End::Sender, ours.id, writes.size);
            }
            _ => system.write_last(End::Sender, ours.id, ours.to_write),
        }
    }
}
