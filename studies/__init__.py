"""What was measured besides the tables: ``python -m studies NAME FOLDER``."""
