"""What correlated people may lose by what is read: answers, a picture of them, and lines of the card."""
