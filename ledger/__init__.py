"""Events, the store and what records into it; imports nothing of ours."""
