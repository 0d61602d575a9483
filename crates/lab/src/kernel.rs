//! What the running kernel says of itself.

/// Its release, such as `6.12.3`.
pub fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Congestion controls that it has loaded.
pub fn congestion_controls() -> Vec<String> {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}
