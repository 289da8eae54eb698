"""What a reader sees: tables, figures, notebooks, the report, and how a run
compares."""

from kerhrm.extras import needs

needs("workflow", "bleach", "bs4", "ipykernel", "jinja2", "matplotlib", "nbconvert")
needs("workflow", "nbformat", "papermill", "tabulate", "yaml")
