//! Data written by the application: bytes, divided into segments when sent.
//!
//! ```text
//! write  2000 B     one full segment; 540 B wait for more
//! push              the 540 B may leave as they are
//! write  1000 B     nothing has left yet: two full segments, 80 B wait
//! end               the last segment has 80 B
//! ```
//!
//! Segments are full unless pushed. A segment is identified by its number, on the wire and in the sender's state; the
//! bytes missing in partial segments are kept in a list.

/// Data of one connection written so far.
#[derive(Clone, Debug)]
pub struct SendStream {
    /// Payload of a full segment, bytes.
    mss: u16,
    /// Number of segments that are full or have been sent.
    whole: u64,
    /// Bytes after those segments.
    rest: u64,
    /// Whether the rest may be sent without waiting for more data.
    pushed: bool,
    /// Whether no more data will be written.
    ended: bool,
}

impl SendStream {
    /// Returns an empty stream.
    pub fn new(mss: u64) -> Self {
        SendStream { mss: mss as u16, whole: 0, rest: 0, pushed: false, ended: false }
    }

    /// Returns the payload of a full segment, bytes.
    pub fn mss(&self) -> u64 {
        self.mss.into()
    }

    /// Writes `bytes` more; [`u64::MAX`] for unlimited data. A partial segment waits for more data, for
    /// [`SendStream::push`] or for [`SendStream::end`]. Writes after the end are ignored.
    pub fn write(&mut self, bytes: u64) {
        // A sender may have given up before its application has written all.
        if self.ended {
            return;
        }
        let rest = self.rest.saturating_add(bytes);
        let mss = u64::from(self.mss);
        self.whole += rest / mss;
        // The push remains pending if the data still do not fill a segment.
        self.pushed &= self.rest > 0 && rest < mss;
        self.rest = rest % mss;
    }

    /// Allows the data written so far to leave in a partial segment.
    pub fn push(&mut self) {
        self.pushed = true;
    }

    /// Ends the data.
    pub fn end(&mut self) {
        self.ended = true;
        self.push();
    }

    /// Ends the data and discards what is not in the first `sent` segments.
    pub fn stop(&mut self, sent: u64) {
        *self = SendStream { whole: sent, rest: 0, pushed: true, ended: true, ..*self };
    }

    /// Returns the number of segments that may be sent, after the first `sent`.
    #[inline]
    pub fn ready(&self, sent: u64) -> u64 {
        self.whole + u64::from(self.rest_leaves()) - sent
    }

    #[inline]
    fn rest_leaves(&self) -> bool {
        self.pushed && self.rest > 0
    }

    /// Cuts the next segment, after the first `sent`. Returns the number of bytes that it lacks to a full one.
    #[inline]
    pub fn cut(&mut self, sent: u64) -> u16 {
        if sent < self.whole {
            return 0;
        }
        debug_assert!(self.rest_leaves(), "a segment is ready");
        self.whole += 1;
        self.mss - core::mem::take(&mut self.rest) as u16
    }

    /// Whether a segment is the last of pushed data.
    #[inline]
    pub fn is_pushed(&self, segment: u64) -> bool {
        self.pushed && segment + 1 == self.whole && self.rest == 0
    }

    /// Returns the bytes after the first `acknowledged` segments; all segments but the last count as full.
    pub fn bytes_after(&self, acknowledged: u64) -> u64 {
        (self.whole - acknowledged) * u64::from(self.mss) + self.rest
    }

    /// Whether all data that need not wait for more is in the first `acknowledged` segments.
    #[inline]
    pub fn is_acknowledged(&self, acknowledged: u64) -> bool {
        acknowledged == self.whole && !self.rest_leaves()
    }

    /// Whether the data has ended and is in the first `acknowledged` segments.
    #[inline]
    pub fn is_done(&self, acknowledged: u64) -> bool {
        self.ended && self.rest == 0 && acknowledged == self.whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fill_a_segment_waits_until_it_is_pushed() {
        let mut stream = SendStream::new(1_460);
        stream.write(2_000);
        assert_eq!((stream.ready(0), stream.cut(0), stream.ready(1)), (1, 0, 0));
        stream.push();
        assert_eq!(stream.ready(1), 1);
        stream.write(100);
        assert_eq!(stream.ready(1), 1, "what was pushed takes along what came after");
        stream.write(900);
        assert_eq!((stream.ready(1), stream.cut(1)), (1, 0), "1540 B by now");
        stream.end();
        assert_eq!((stream.cut(2), stream.is_pushed(2)), (1_380, true));
        assert!(stream.is_done(3) && !stream.is_done(2));
    }

    #[test]
    fn bytes_after_a_short_segment_begin_the_next() {
        let mut stream = SendStream::new(1_000);
        for n in 0..3 {
            stream.write(300);
            stream.push();
            assert_eq!((stream.cut(n), stream.ready(n + 1)), (700, 0));
        }
        stream.write(1_000);
        assert_eq!((stream.ready(3), stream.cut(3), stream.is_pushed(3)), (1, 0, false));
    }

    #[test]
    fn the_last_segment_may_be_full() {
        let mut stream = SendStream::new(1_000);
        stream.write(2_000);
        stream.end();
        assert_eq!((stream.cut(0), stream.cut(1)), (0, 0));
        assert_eq!((stream.is_pushed(0), stream.is_pushed(1)), (false, true));
        assert!(stream.is_done(2));
    }

    #[test]
    fn a_stream_that_stops_ends_with_what_has_left() {
        let mut stream = SendStream::new(1_460);
        stream.write(u64::MAX);
        stream.stop(7);
        assert_eq!(stream.ready(7), 0);
        assert!(stream.is_done(7) && !stream.is_done(6));
    }

    #[test]
    fn a_stream_without_end_has_always_more() {
        let mut stream = SendStream::new(1_460);
        stream.write(u64::MAX);
        assert!(stream.ready(1 << 40) > 1 << 40);
        assert!(!stream.is_done(1 << 40));
    }
}
