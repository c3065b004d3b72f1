"""The tests of Turnledger."""
