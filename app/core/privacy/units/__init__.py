"""Several rows a person: bounds over (total, rows), of which one person can move both. `mesh.py` chooses among them."""
