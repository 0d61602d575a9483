//! REM's price of a link, as a function of time.

/// A price λ that packets are marked with, `p = 1 − φ^(−λ)`:
///
/// ```text
/// λ' = γ (α/T (b − b₀) + y − c)        y what arrives     (5.2.5); with α = 0 (5.2.3)
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Price {
    /// γ, per packet.
    pub gamma: f64,
    /// α/T, per second; 0 in PC1.
    pub alpha_hz: f64,
    /// b₀, in packets.
    pub target: f64,
    /// φ.
    pub base: f64,
}

impl Price {
    /// λ', per second.
    pub fn slope(&self, queue: f64, excess_pps: f64) -> f64 {
        self.gamma * (self.alpha_hz * (queue - self.target) + excess_pps)
    }

    /// Probability with which packets say a price.
    pub fn probability(&self, price: f64) -> f64 {
        -libm::expm1(-price * libm::log(self.base))
    }

    /// Price that packets say with a probability.
    pub fn signalled_price(&self, probability: f64) -> f64 {
        signalled_price(probability, self.base)
    }
}

/// −ln(1 − p)/ln φ.
pub fn signalled_price(probability: f64, base: f64) -> f64 {
    -libm::log1p(-probability) / libm::log(base)
}
