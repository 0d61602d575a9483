"""Studies: many runs of many scenarios, judged, and told on a page.

Most are data on one engine, which is here: what is run and read, what is claimed, and the page are
in `studies/NAME`. `fidelity` puts the simulator beside real Linux, and `oracle` our queue
mechanisms beside the kernel's.
"""
