"""Tests of the projections room."""
