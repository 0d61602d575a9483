//! Build options and sysctls of a kernel that affect a sender and are not part of a profile.

use tidegate_mechanisms::units::Span;

use super::TcpSender;
use crate::packet::ReceivedBytes;
use crate::tcp::accecn::MarkReader;

/// Build options and sysctls of a kernel; the default is that of server distributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Timer tick (`CONFIG_HZ`): timers of loss detection last at least two ticks.
    pub tick: Span,
    /// Segments of the smallest burst (`tcp_min_tso_segs`).
    pub least_burst: u32,
    /// Number of SYN retransmissions before the timeout begins to double (`tcp_syn_linear_timeouts`).
    pub even_requests: u32,
}

impl Default for Kernel {
    fn default() -> Self {
        Kernel { tick: Span::from_millis(4), least_burst: 2, even_requests: 0 }
    }
}

impl TcpSender {
    /// Sets the kernel of this sender.
    pub fn set_kernel(&mut self, kernel: Kernel) {
        self.timer.set_tick(kernel.tick);
        self.timer.set_even_requests(kernel.even_requests);
        self.transmit.set_least_burst(kernel.least_burst);
    }

    /// Makes the host's interface reject all segments and report that to TCP: transmissions wait. (Linux also reduces
    /// the window then, unless it is already being reduced; this is omitted, and timeouts go on.)
    pub fn refuse_segments(&mut self) {
        self.window.close();
    }

    /// Handles the AccECN option of a handshake packet.
    pub fn note_option(&mut self, received: &ReceivedBytes) {
        if let Some(reader) = self.ecn.reader_mut() {
            reader.note_option(received);
        }
    }

    /// Whether the peer has sent the AccECN option.
    pub fn has_seen_option(&self) -> bool {
        self.ecn.reader().is_some_and(MarkReader::has_seen_option)
    }

    /// Records that the next ACK has a later timestamp than all before.
    pub fn note_newer(&mut self) {
        if let Some(reader) = self.ecn.reader_mut() {
            reader.note_newer();
        }
    }
}
