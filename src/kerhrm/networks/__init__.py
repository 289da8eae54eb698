"""Networks, drawn at w_0 and trained."""
