"""Estimators for tables, and what they warn of."""

from kerhrm.errors import DataWarning as DataWarning
from kerhrm.errors import (
    HeterogeneityNotDetectedWarning as HeterogeneityNotDetectedWarning,
)
from kerhrm.errors import KerhrmWarning as KerhrmWarning
from kerhrm.errors import PriceWarning as PriceWarning
