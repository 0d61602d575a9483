"""Published results, reproduced: what a paper's folder says, runs, and is judged by.

A paper's folder under `papers/` holds data, no code: one base scenario, how a factor of a table
changes it, the experiments, the published values and claims, and explanations of deviations.
"""
