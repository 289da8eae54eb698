"""What an estimator warns of, each in one line."""


class KerhrmWarning(UserWarning):
    """Anything that the estimators warn of."""


class DataWarning(KerhrmWarning):
    """The table is usable, but something in it is not as it should be."""


class NothingFoundWarning(KerhrmWarning):
    """No environments were found, or no two that are of use."""
