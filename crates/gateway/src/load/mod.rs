//! Sources and sinks: what the hosts send and receive.
