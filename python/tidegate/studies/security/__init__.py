"""What liars and floods gain: users who misbehave against what stands in their way.

Data: ``security/``. Pages: ``docs/conex-security.md``, ``docs/reecn-security.md``.
``python -m tidegate.studies.security [conex | re-ecn]``.
"""
