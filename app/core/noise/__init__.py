"""Noise on whole numbers, exact and seeded by the operating system, with what each costs."""
