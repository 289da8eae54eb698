"""Methods: KerHRM, its rivals and the references."""
