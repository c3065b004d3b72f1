"""Benchmarks: every figure beside its peer in the same run. `scripts/bench --help`."""
