//! History of a function of time.

/// Values at equal steps, the latest last. Before the first, the function was constant.
pub struct History {
    values: Vec<f64>,
}

impl History {
    /// Returns a function that has always had this value.
    pub fn new(value: f64) -> Self {
        History { values: vec![value] }
    }

    /// Adds the value of the next step.
    pub fn push(&mut self, value: f64) {
        self.values.push(value);
    }

    /// Returns the value `steps` before the latest, interpolated linearly.
    pub fn ago(&self, steps: f64) -> f64 {
        let last = self.values.len() - 1;
        let at = last as f64 - steps.max(0.0);
        if at <= 0.0 {
            return self.values[0];
        }
        let before = at as usize;
        let part = at - before as f64;
        let next = self.values[(before + 1).min(last)];
        self.values[before] + part * (next - self.values[before])
    }
}
