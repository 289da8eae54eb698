"""Your method beside the published ones: ``kerhrm compete mymethod.py``."""
