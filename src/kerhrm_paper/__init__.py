"""The reproduction: what a person who imports the library does not need."""
