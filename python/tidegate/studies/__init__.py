"""Studies: many runs of many scenarios, judged, with a page of results.

Most are data on one engine, which is here: what is run and read, what is claimed, and the page are
in `studies/NAME`. `fidelity` compares the simulator with real Linux, and `oracle` compares
queue mechanisms with the kernel's.
"""
