"""What correlated people lose: how far a release moves beliefs about one person when people's data depend on each other."""
