"""What a reader sees: tables, figures, notebooks, the report, and how a run
compares."""
