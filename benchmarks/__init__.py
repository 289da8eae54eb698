"""Speed: ``make bench``."""
