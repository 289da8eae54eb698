"""From predictions and labels to scores, tables, comparisons and selected
hyperparameters."""
