"""Giving back what was recorded: as files of our own, for people, and for other libraries."""
