"""What lying about congestion gains: strategies of one user against what stands in his way.

Data: ``security/``. Page: ``docs/conex-security.md``. ``python -m tidegate.studies.security``.
"""
