"""What changes of several people at once cost: along a path of neighbours, and by wider steps."""
