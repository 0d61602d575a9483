//! Transfers of a given size, each on its own connection: one, or several in sequence.
//!
//! With a barrier, the transfers of all flows of the group are a block. The flow that finishes last wakes the others.

use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::{FlowPlan, PausePlan, Traffic, WritesPlan};

use super::site::Block;
use super::{Application, Carrier, End, System, TransferRecord};
use crate::connections::ConnectionId;

/// Parameters and progress of the transfers.
pub struct Transfer {
    size: Bytes,
    pause: Option<PausePlan>,
    writes: Option<WritesPlan>,
    current: Option<CurrentTransfer>,
    transferred: u64,
    barrier: Option<Blocks>,
}

/// Blocks that a flow has taken part in.
#[derive(Default)]
struct Blocks {
    /// From the start of the run.
    ended: u64,
    /// Those that have ended in the measured time; what follows is of them.
    counted: u64,
    /// Sum of their durations, seconds.
    took_s: f64,
    longest: Span,
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
        let barrier = plan.barrier.then(Blocks::default);
        Some(Transfer { size, pause, writes, current: None, transferred: 0, barrier })
    }

    fn start(&mut self, system: &mut System) {
        if self.barrier.is_some() {
            let now = system.now();
            system.site().block.begin(now);
        }
        let id = system.open(End::Sender);
        self.current = Some(CurrentTransfer { id, start: system.now(), to_write: self.size });
        self.write(system);
    }

    /// Handles a wake-up: the next write, the end of a block, or the next transfer.
    fn wake(&mut self, system: &mut System) {
        if self.current.is_some() {
            self.write(system);
        } else if !self.sees_end_of_block(system) {
            self.start(system);
        }
    }

    fn closed(&mut self, id: ConnectionId, system: &mut System) {
        let Some(CurrentTransfer { start, .. }) = self.current.take_if(|ours| ours.id == id) else {
            return;
        };
        self.transferred += 1;
        let took = system.now() - start;
        if self.barrier.is_some() {
            self.finish_in_block(system);
        } else if let Some(pause) = self.pause {
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

    fn measure(&mut self, _now: Time) {
        if let Some(blocks) = &mut self.barrier {
            *blocks = Blocks { ended: blocks.ended, ..Blocks::default() };
        }
    }

    fn metrics(&self, _now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        let Some(Blocks { counted, took_s, longest, .. }) = &self.barrier else { return };
        each("blocks", *counted as f64);
        each("block_s", took_s / *counted as f64);
        each("longest_block_s", if *counted > 0 { longest.as_secs() } else { f64::NAN });
    }
}

impl Transfer {
    /// Notes the end of this flow's transfer, and wakes all flows of the group if it was the last of the block.
    fn finish_in_block(&mut self, system: &mut System) {
        let ((_, flows), now) = (system.turn_in_group(), system.now());
        let Some(took) = system.site().block.finish(flows, now) else { return };
        let pause = self.pause.map(|pause| system.random().pause(pause, took));
        system.site().block.next = pause.map(|pause| now + pause);
        system.wake_group();
    }

    /// Counts a block that has ended since the last call, and schedules the next transfer. Returns whether there was one.
    fn sees_end_of_block(&mut self, system: &mut System) -> bool {
        let Some(blocks) = &mut self.barrier else { return false };
        let &mut Block { ended, took, next, .. } = &mut system.site().block;
        if ended == blocks.ended {
            return false;
        }
        blocks.ended = ended;
        blocks.counted += 1;
        blocks.took_s += took.as_secs();
        blocks.longest = blocks.longest.max(took);
        if let Some(next) = next {
            system.wake_at(next);
        }
        true
    }

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
