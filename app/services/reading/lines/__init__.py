"""Lines of a release's card, one file a subject."""
