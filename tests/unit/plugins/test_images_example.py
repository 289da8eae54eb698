"""The example on images, small and on the synthetic digits."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from kerhrm_paper.data.mnist import Digits

FILE = Path(__file__).parents[3] / "examples" / "images.py"


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example as a module, whose network an estimator finds by its name."""
    spec = importlib.util.spec_from_file_location("images_example", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "images_example", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::kerhrm.estimators.PriceWarning")
def test_it_compares_three_models(images: ModuleType) -> None:
    parameters = {
        "k": [5],
        "n_iterations": 1,
        "n_init": 2,
        "alpha": [0.0, 10.0],
        "if_not_better": "fit",
        "options": {"cosine_weight": [10.0], "steps": 60},
    }
    table = images.compare(Digits.fallback(), 120, **parameters)
    assert list(table.index) == ["ERM", "KerHRM (linear predictor)", "KerHRM"]
    accuracies = table[["training", "test"]].to_numpy()
    assert accuracies.min() >= 0
    assert accuracies.max() <= 1
    assert table["environments"].notna().tolist() == [False, True, True]
