"""Networks from and to other programs' files."""
