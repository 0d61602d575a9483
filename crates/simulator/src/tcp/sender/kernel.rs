//! How a kernel was built and set up, where that makes a difference to a sender and no profile says it.

use tidegate_mechanisms::units::Span;

use super::TcpSender;
use crate::packet::ReceivedBytes;
use crate::tcp::accecn::MarkReader;

/// A kernel's build and settings. The default is what distributions for servers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// A tick: no timer of loss detection is set to less than two of them (`CONFIG_HZ`).
    pub tick: Span,
    /// Segments of the smallest burst (`tcp_min_tso_segs`).
    pub least_burst: u32,
    /// So many requests are repeated before the timeout begins to double (`tcp_syn_linear_timeouts`).
    pub even_requests: u32,
}

impl Default for Kernel {
    fn default() -> Self {
        Kernel { tick: Span::from_millis(4), least_burst: 2, even_requests: 0 }
    }
}

impl TcpSender {
    /// Makes it that of another kernel.
    pub fn set_kernel(&mut self, kernel: Kernel) {
        self.timer.set_least(kernel.tick * 2);
        self.timer.set_even_requests(kernel.even_requests);
        self.transmit.set_least_burst(kernel.least_burst);
    }

    /// From now on the host's interface takes no segment, and TCP is told so: what would be sent waits. (That
    /// Linux also reduces the window then, unless it does so already, is left out, and timeouts go on.)
    pub fn refuse_segments(&mut self) {
        self.window.close();
    }

    /// A packet of the handshake has the option of accurate feedback.
    pub fn note_option(&mut self, received: &ReceivedBytes) {
        if let Some(reader) = self.ecn.reader_mut() {
            reader.note_option(received);
        }
    }

    /// Whether there has been one.
    pub fn has_seen_option(&self) -> bool {
        self.ecn.reader().is_some_and(MarkReader::has_seen_option)
    }

    /// The next ACK has a later timestamp than those before.
    pub fn note_newer(&mut self) {
        if let Some(reader) = self.ecn.reader_mut() {
            reader.note_newer();
        }
    }
}
