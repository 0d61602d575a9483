"""Running scenarios: once, many times, at every point of a sweep; on this machine or elsewhere."""
