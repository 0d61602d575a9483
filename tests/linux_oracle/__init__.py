"""Linux as an oracle: the kernel's queue disciplines and ours on the same packets.

The kernel runs as an ordinary process in virtual time (User-Mode Linux, built by
``tools/linux-oracle/build.sh``), so that what it does is exact and repeatable.
``PYTHONPATH=tests python -m linux_oracle`` compares, keeps the numbers in
``tools/linux-oracle/results.json``, and writes ``docs/linux-oracle.md``.
"""
