"""Live output of `codex exec --json`."""
