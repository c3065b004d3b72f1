"""Imports: files found and read, their conversations stored. What lines mean is decided in `ledger.intake`."""
