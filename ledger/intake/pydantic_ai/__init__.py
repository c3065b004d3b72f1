"""Runs of pydantic-ai: its event stream and its messages."""
