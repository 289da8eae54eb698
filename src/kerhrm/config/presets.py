"""Presets at the paper's sizes, whose numbers are compared with the paper's."""

DEVELOPMENT = "paper"  #: seeds on which everything was designed; the usual one
FRESH = "fresh"  #: seeds that nothing was designed on, run once after the freeze
FULL = (DEVELOPMENT, FRESH)
