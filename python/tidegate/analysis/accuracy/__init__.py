"""How far an equilibrium may be from what packets do, and why.

The causes at links without differentiation are in `causes`, those with it in `customers`, and the
deviations measured by the study `accuracy` in `measured`. An equilibrium without
a cause was within 10 % of each group's rate and 20 % of the queue there.
"""
