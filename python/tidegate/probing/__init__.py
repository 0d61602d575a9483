"""Probes of a path: ECN-capable datagrams to somebody who answers what became of them."""
