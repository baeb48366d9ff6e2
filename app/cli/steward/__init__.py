"""Commands for stewards that are more than a call: statistics computed beside the data, and a bar that shows how far work is."""
