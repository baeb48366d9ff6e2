"""Whether rows of one column look like the model's: bins, the wider families it is held against, the test, the verdict."""
