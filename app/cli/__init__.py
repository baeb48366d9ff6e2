"""Command line, one file a noun. Nothing heavy is imported before a command runs."""
