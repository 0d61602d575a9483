"""Probes of a path: ECN-capable datagrams to a host that reports what arrived."""
