//! ingress
