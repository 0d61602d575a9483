//! What nodes count of messages.

/// Messages that nodes got and sent, by kind and by what is wrong with them.
#[derive(Clone, Debug, Default)]
pub struct MessageCounts(Vec<(&'static str, u64)>);

impl MessageCounts {
    /// One more of these.
    pub fn add(&mut self, what: &'static str) {
        match self.0.iter_mut().find(|(name, _)| *name == what) {
            Some((_, count)) => *count += 1,
            None => self.0.push((what, 1)),
        }
    }

    /// One text each, such as `echo requests 12`.
    pub fn texts(&self) -> Vec<String> {
        self.0.iter().map(|(what, count)| format!("{what} {count}")).collect()
    }
}
