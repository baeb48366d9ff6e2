"""What is particular to PostgreSQL as the database of the service: connections that notice when it falls silent."""
