"""The league: every mechanism of a bottleneck in every situation, side by side.

What is played is data, in the checkout's folder `league/`: a table a mechanism in
`mechanisms.toml`, a table a situation in `situations.toml` with a scenario for each.
"""
