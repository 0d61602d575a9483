//! A function of time as far back as anybody asks.

/// Values at equal steps, the latest last. Before the first, the function was constant.
pub struct History {
    values: Vec<f64>,
}

impl History {
    /// A function that has had this value for ever.
    pub fn new(value: f64) -> Self {
        History { values: vec![value] }
    }

    /// Its value one step later.
    pub fn push(&mut self, value: f64) {
        self.values.push(value);
    }

    /// Its value so many steps before the latest, between two of them on a straight line.
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
