"""Every promise of the store (DESIGN.md 4), stated once and kept on both engines, through the public door."""
