"""Scenarios on real Linux: `tidegate.lab`.

(The room is not called ``lab`` because the function is.)
"""
