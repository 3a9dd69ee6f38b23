"""Benchmarks: what a governed call costs, as ratios taken in one run, because machines are noisy."""
