"""What a smoke run has to show, from the configuration alone."""

from pathlib import Path

from kerhrm_paper.config.config import load_config

CONFIG = load_config({"preset": "smoke"}, root=Path(__file__).parents[2])
TABLES = sorted(name for name, table in CONFIG.tables.items() if table.in_all)
#: every (data, learner) that `all` trains
CELLS = sorted({cell for name in TABLES for cell in CONFIG.tables[name].cells})
METRICS = {
    "accuracy": ["train_acc", "test_acc", "generalisation_gap"],
    "shift": ["test_acc"],
    "mean_error": ["mean_error", "error_sd"],
    "period": ["mse"],
}
#: methods that are given the true environments
LABELLED = {"irm", "iga", "true_environments", "group_dro"}
#: rules between the data set and the predictions
TRAINING = {
    "extract_features",
    "learn_environments",
    "learn_direction",
    "test_heterogeneity",
    "train_network",
    "train",
}
