"""What SQL engines write differently, one file an engine. The statement around it is the same: `docs/adding-an-engine.md`."""
