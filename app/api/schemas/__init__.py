"""Shapes of bodies and answers, one file a noun. What a specification means is checked by `core`, once."""
