"""One row a person, any number of sums: bounds of the table really drawn on cells of sums."""
