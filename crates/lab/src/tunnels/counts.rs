//! Counts of messages at nodes.

/// Messages received and sent by nodes, by kind and error.
#[derive(Clone, Debug, Default)]
pub struct MessageCounts(Vec<(&'static str, u64)>);

impl MessageCounts {
    /// Counts a message.
    pub fn add(&mut self, what: &'static str) {
        match self.0.iter_mut().find(|(name, _)| *name == what) {
            Some((_, count)) => *count += 1,
            None => self.0.push((what, 1)),
        }
    }

    /// Returns one text for each kind, such as `echo requests 12`.
    pub fn texts(&self) -> Vec<String> {
        self.0.iter().map(|(what, count)| format!("{what} {count}")).collect()
    }
}
