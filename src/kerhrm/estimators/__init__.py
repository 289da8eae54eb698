"""Estimators for tables, and what they warn of."""


class KerhrmWarning(UserWarning):
    """Base of the estimators' warnings."""


class DataWarning(KerhrmWarning):
    """The table can be used, but something in it is unusual."""


class HeterogeneityNotDetectedWarning(KerhrmWarning):
    """No environments were detected, or none that are more than the label."""


class PriceWarning(KerhrmWarning):
    """KerHRM predicts two labels, and has more of them wrong than ERM on rows like
    these: right if environments are hidden in them, which no test can tell."""
