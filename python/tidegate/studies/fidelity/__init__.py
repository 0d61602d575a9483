"""How true the simulator is: the same scenarios simulated and on real Linux, side by side.

``python -m tidegate.studies.fidelity fidelity|abc|mixes`` in a checkout runs the scenarios below
``fidelity/``, keeps what was measured there, and writes a page in ``docs/``.
"""
