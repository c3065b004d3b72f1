"""Runtimes in this process whose runs can be recorded: one module a library, each an optional extra."""
