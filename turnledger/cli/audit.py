"""`turnledger audit`: prove that nothing was changed, or name what was."""
