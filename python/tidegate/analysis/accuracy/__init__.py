"""How far an equilibrium may be from what packets do, and why.

One file a concept: the causes at links without differentiation (`causes`), those where customers
are told apart (`customers`), and what each has come to in simulations (`measured`, from the study
`accuracy`). An equilibrium without a cause was within 10 % of each group's rate
and 20 % of the queue there.
"""
