"""What runtimes wrote, taken in: pure mappings from their lines to canonical events, one package a runtime."""
