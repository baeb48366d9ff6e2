"""What calls return: frozen, typed, one file a noun. Fields a newer service adds are ignored."""
