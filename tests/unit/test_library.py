"""What ``import kerhrm`` offers, and what it costs."""

import subprocess
import sys

import pytest

import kerhrm


def assert_exits_with_zero(code: str) -> None:
    """In an interpreter of its own."""
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == 0


def test_every_name_is_there() -> None:
    for name in set(kerhrm.__all__) - {"METHODS"}:
        assert getattr(kerhrm, name).__name__.rpartition(".")[2] == name
    assert "kerhrm" in kerhrm.METHODS
    assert kerhrm.__version__
    with pytest.raises(AttributeError):
        kerhrm.nothing  # noqa: B018


@pytest.mark.parametrize("module", ["kerhrm", "kerhrm.algorithm.options"])
def test_importing_it_imports_no_torch(module: str) -> None:
    code = (
        f"import sys, {module}; sys.exit(bool({{'torch', 'numpy'}} & {{*sys.modules}}))"
    )
    assert_exits_with_zero(code)


@pytest.mark.parametrize("preset", ["smoke", "paper"])
def test_planning_imports_no_torch(preset: str) -> None:
    """It would cost each dry run two seconds."""
    code = "import sys; from kerhrm_paper.config.config import load_config;"
    code += f"load_config({{'preset': '{preset}'}}); sys.exit('torch' in sys.modules)"
    assert_exits_with_zero(code)


def test_reading_a_file_imports_no_torch() -> None:
    """It would cost a plan with a table of one's own two seconds."""
    code = "import sys, kerhrm.tables.csv;"
    code += "sys.exit(bool({'torch', 'sklearn'} & {*sys.modules}))"
    assert_exits_with_zero(code)


def test_an_estimator_imports_no_encoder() -> None:
    """What only ``kerhrm check`` and ``table_encoder`` need costs .2 seconds."""
    code = "import sys; from kerhrm import KerHRMClassifier;"
    code += (
        "sys.exit(bool({'kerhrm.tables.encoder', 'sklearn.impute'} & {*sys.modules}))"
    )
    assert_exits_with_zero(code)


def test_training_imports_no_scikit_learn() -> None:
    """It would cost each of a run's jobs a second."""
    code = "import sys, kerhrm.methods.kerhrm; sys.exit('sklearn' in sys.modules)"
    assert_exits_with_zero(code)
