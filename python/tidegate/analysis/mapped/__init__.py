"""From a scenario to models: what each part of it is mapped to, and where nothing is.

One file a concept: flows that are alike (`bundles`), which law a sender (`sources`) and an AQM
(`signals`) follow, how a network is to be shared (`optimum`), the network as a whole (`network`),
and the sentence where no model applies (`refusal`).
"""
