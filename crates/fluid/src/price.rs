//! REM's price of a link, as a function of time.

/// Price λ with which packets are marked, `p = 1 − φ^(−λ)`:
///
/// ```text
/// λ' = γ (α/T (b − b₀) + y − c)        y what arrives     (5.2.5); with α = 0 (5.2.3)
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Price {
    /// Step γ, per packet.
    pub gamma: f64,
    /// Weight α/T of the queue, per second; 0 in PC1.
    pub alpha_hz: f64,
    /// Target b₀, packets.
    pub target: f64,
    /// Base φ.
    pub base: f64,
}

impl Price {
    /// Returns λ', per second.
    pub fn slope(&self, queue: f64, excess_pps: f64) -> f64 {
        self.gamma * (self.alpha_hz * (queue - self.target) + excess_pps)
    }

    /// Returns the marking probability of a price.
    pub fn probability(&self, price: f64) -> f64 {
        -libm::expm1(-price * libm::log(self.base))
    }

    /// Returns the price with this marking probability.
    pub fn signalled_price(&self, probability: f64) -> f64 {
        signalled_price(probability, self.base)
    }
}

/// Returns −ln(1 − p)/ln φ.
pub fn signalled_price(probability: f64, base: f64) -> f64 {
    -libm::log1p(-probability) / libm::log(base)
}
