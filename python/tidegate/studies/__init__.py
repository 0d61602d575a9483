"""Studies: many runs of many scenarios, judged, and told on a page.

`papers` puts ours beside what was published, `league` mechanisms beside each other, `fidelity` the
simulator beside real Linux, and `oracle` our queue mechanisms beside the kernel's.
"""
