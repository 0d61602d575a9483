//! Web browsing: the main object, its embedded objects, then a pause. S. Zimmermann's dissertation, 2005, section 5.6.4
//! and Figure 5.6.8.
//!
//! ```text
//! page    n objects, geometric: 1, 2, …; sizes by a truncated power tail
//! on      request ─► main object, request ─► object, … until the user has the last byte
//! off     exponential
//! ```
//!
//! The user opens a connection for each object. Embedded objects are requested after the main object has arrived,
//! sequentially or in parallel.

mod sizes;

use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::{self, Fetching, FlowPlan, Traffic};

use super::{Application, Carrier, ConnectionId, End, System, TransferRecord};
use sizes::PowerTail;

/// User that reads page after page.
pub struct Pages {
    plan: plan::Pages,
    sizes: PowerTail,
    page: Option<Page>,
    counts: Counts,
}

/// Page being fetched.
struct Page {
    start: Time,
    objects: u64,
    size: u64,
    /// Sizes of the objects not yet requested.
    left: Vec<u64>,
    /// Objects requested and not yet received.
    asked: Vec<Asked>,
}

/// Object that the user waits for.
struct Asked {
    id: ConnectionId,
    /// Bytes of the request that have not reached the server.
    unheard: u64,
    /// Bytes of the object that have not reached the user.
    to_come: u64,
}

/// Counts for the metrics.
#[derive(Default)]
struct Counts {
    pages: u64,
    objects: u64,
    bytes: u64,
    waited: Span,
}

impl Application for Pages {
    const NAME: &'static str = "pages";
    const OVERLAPS: bool = true;

    fn of(flow: &FlowPlan) -> Option<Self> {
        let Traffic::Pages(plan) = &*flow.traffic else { return None };
        let sizes = PowerTail::new(plan.smallest, plan.size, plan.largest);
        Some(Pages { plan: plan.clone(), sizes, page: None, counts: Counts::default() })
    }

    fn listens(&self) -> bool {
        true
    }

    /// Requests the next page.
    fn start(&mut self, system: &mut System) {
        let objects = system.random().geometric(1.0 / self.plan.objects.0);
        let left: Vec<u64> = (0..objects).map(|_| self.sizes.draw(system.random()).get()).collect();
        let size = left.iter().sum();
        self.page = Some(Page { start: system.now(), objects, size, left, asked: Vec::new() });
        self.ask(1, system);
    }

    fn wake(&mut self, system: &mut System) {
        self.start(system);
    }

    fn arrived(&mut self, at: End, id: ConnectionId, bytes: u64, system: &mut System) {
        let Some(page) = &mut self.page else { return };
        let Some(place) = page.asked.iter().position(|asked| asked.id == id) else { return };
        let asked = &mut page.asked[place];
        if at == End::Sender {
            asked.unheard -= bytes;
            if asked.unheard == 0 {
                system.write_last(End::Sender, id, Bytes::new(asked.to_come));
            }
            return;
        }
        asked.to_come -= bytes;
        if asked.to_come == 0 {
            page.asked.swap_remove(place);
            self.go_on(system);
        }
    }

    fn measure(&mut self, _now: Time) {
        self.counts = Counts::default();
    }

    fn unfinished(&self) -> Vec<TransferRecord> {
        let record = |page: &Page| TransferRecord {
            start: page.start,
            size: Bytes::new(page.size),
            completion: None,
            set_up: None,
        };
        self.page.iter().map(record).collect()
    }

    fn metrics(&self, _now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        let Counts { pages, objects, bytes, waited } = self.counts;
        each("pages", pages as f64);
        each("objects", objects as f64);
        each("bytes", bytes as f64);
        each("waited_s", waited.as_secs());
        each("page_s", waited.as_secs() / pages as f64);
    }
}

impl Pages {
    /// Handles the arrival of an object.
    fn go_on(&mut self, system: &mut System) {
        let Some(page) = &self.page else { return };
        match (page.left.len(), self.plan.within) {
            (0, _) if page.asked.is_empty() => self.end(system),
            (left, Fetching::AtOnce) => self.ask(left, system),
            (left, Fetching::InTurn) => self.ask(left.min(1), system),
        }
    }

    /// Requests a number of objects, each over its own connection.
    fn ask(&mut self, objects: usize, system: &mut System) {
        let Some(page) = &mut self.page else { return };
        for to_come in page.left.drain(..objects) {
            let id = system.open(End::Receiver);
            page.asked.push(Asked { id, unheard: self.plan.request.get(), to_come });
            system.write_last(End::Receiver, id, self.plan.request);
        }
    }

    /// Ends a page that has been received completely.
    fn end(&mut self, system: &mut System) {
        let Some(Page { start, objects, size, .. }) = self.page.take() else { return };
        let took = system.now() - start;
        self.counts.pages += 1;
        self.counts.objects += objects;
        self.counts.bytes += size;
        self.counts.waited = self.counts.waited + took;
        let (size, completion) = (Bytes::new(size), Some(took));
        system.record(TransferRecord { start, size, completion, set_up: None });
        let off = self.plan.off.as_secs() * system.random().exponential();
        system.wake_at(system.now() + Span::from_secs_f64(off));
    }
}
