"""The page about adding things: all of its code, run as it stands."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from plugintools import install, write_info

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLE = ROOT / "examples" / "outside_method"
#: of the package ``mine``: what their blocks have and no other block
MODULES = {"penalty": "CurvatureVariance(", "networks": "def smooth", "data": "FLIPPED = "}


def block(language: str, within: str) -> str:
    (found,) = [text for kind, text in BLOCKS if kind == language and within in text]
    return found


def make_mine(folder: Path) -> None:
    """The package of the page's penalty, network and data set."""
    (folder / "mine").mkdir(parents=True)
    (folder / "mine" / "__init__.py").touch()
    for name, within in MODULES.items():
        (folder / "mine" / f"{name}.py").write_text(block("python", within))
    project = tomllib.loads(block("toml", 'name = "mine"'))["project"]
    write_info(folder, project["name"], project["entry-points"], project["version"])


def run(code: str, *folders: Path) -> str:
    """What Python prints where these folders come first."""
    path = os.pathsep.join(map(str, folders))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    install(EXAMPLE, folder)
    make_mine(folder)
    return folder


def test_the_page_shows_the_example_whole() -> None:
    files = [EXAMPLE / "pyproject.toml", *sorted((EXAMPLE / "kerhrm_cvar").glob("*.py"))]
    texts = [file.read_text(encoding="utf-8") for file in files]
    assert len(files) == 3
    assert all(text in [shown for _, shown in BLOCKS] for text in texts)
    assert sum(text.count("\n") for text in texts) < 60


# Registries, schema and configuration: nothing heavy is imported for them.
DECLARED = """
import json, sys
import kerhrm
assert "kerhrm.methods.registry" not in sys.modules and "kerhrm_cvar" not in sys.modules
from kerhrm.methods.registry import METHODS, ROWS
from kerhrm.config.documentation import schema
from kerhrm.config.resolve import resolve
from kerhrm.algorithm.penalties import PENALTIES
from kerhrm.data.registry import DATA_SETS
assert list(METHODS)[-1] == "cvar" and METHODS["cvar"].rows[0] is ROWS["cvar"]
assert PENALTIES["curvature"] == "mine.penalty:CurvatureVariance"
assert DATA_SETS["flipped"].task == "regression"
sections = schema()["$defs"]
assert sections["CVaR"]["properties"]["share"]["default"] == 0.2
assert "cvar" in json.dumps(sections["Setting"]["properties"]["run"])
assert "curvature" in sections["Invariance"]["properties"]["penalty"]["enum"]
assert sections["FlippedData"]["properties"]["n"]["default"] == 300
one = resolve(WORDS).experiments["classification"].settings["r2=0.70"]
assert one.run == ["erm", "cvar", "kerhrm"] and one.methods.cvar.share == 0.1
table = resolve(TABLE).experiments["flipped"]
assert table.settings["few"].methods.kerhrm.invariance.penalty == "curvature"
assert table.settings["many"].data.n_points == 300
try:
    resolve({"methods": {"cvar": {"shares": 0.1}}})
except ValueError as error:
    assert "did you mean 'share'?" in str(error), error
print(*sorted({"torch", "scipy", "kerhrm_cvar.train"} & sys.modules.keys()))
"""


def test_options_are_in_the_schema_and_read_from_files(installed: Path) -> None:
    written = re.findall(r"'(\w+)=(\{.*?\})'", block("sh", "methods={cvar"))
    words = {key: yaml.safe_load(value) for key, value in written}
    table = yaml.safe_load(block("yaml", "flipped:"))
    code = f"WORDS, TABLE = {words!r}, {table!r}\n{DECLARED}"
    assert run(code, installed).split() == []


# Everything is trained on its own data set; each estimator is that of the page.
TRAINED = """
import warnings
import numpy as np, torch
from scipy.optimize import minimize_scalar
import kerhrm_cvar.train
from mine.penalty import CurvatureVariance
from kerhrm.algorithm.penalties.base import Risks
from kerhrm.data.registry import generate
from kerhrm.jobs.fingerprint import sources

losses = torch.rand(3, 40, dtype=torch.float64)
for row in losses.numpy():
    for share in (0.1, 0.25, 1.0):
        dual = lambda eta: eta + np.maximum(row - eta, 0).sum() / (share * len(row))
        least = minimize_scalar(dual, bounds=(-2, 2), method="bounded").fun
        got = kerhrm_cvar.train.worst(torch.tensor(row), share)
        assert abs(float(got) - least) < 1e-4, (share, float(got), least)

A = torch.diag_embed(torch.rand(2, 3) + 0.5)
risks = Risks(A, torch.randn(2, 3), torch.tensor([0.5, 0.5]), torch.tensor(0.0))
from kerhrm.algorithm.penalties.gradient_variance import WhitenedVariance
theta = torch.randn(3)
torch.testing.assert_close(
    CurvatureVariance().value(risks, theta), WhitenedVariance().value(risks, theta))

data = generate({"generator": "flipped", "n": 200, "share": 0.3}, [0, 5])
X, y, T = data.train.x[0], data.train.y[0], data.test
assert data.train.x.shape == (2, 200, 2) and data.train.environment.mean() == 0.3
MODEL_OF_A_METHOD
model.set_params(steps=60, learning_rate=1e-2, share=0.5).fit(X, y)
assert model.score(X, y) > 0.1, model.score(X, y)
assert "share : float" in type(model).__doc__
model.save("PATH")
np.testing.assert_array_equal(CVaR.load("PATH").predict(X), model.predict(X))
MODEL_WITH_A_NETWORK
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    model.set_params(when_homogeneous="ignore", n_init=2).fit(X, y)
assert model.selected_["k"] == 5 and np.isfinite(model.predict(X)).all()
"""


def test_everything_trains(installed: Path, tmp_path: Path) -> None:
    code = (
        TRAINED.replace("MODEL_OF_A_METHOD", block("python", 'estimator("cvar", "CVaR", __name__)'))
        .replace("MODEL_WITH_A_NETWORK", block("python", "network=smooth"))
        .replace("PATH", str(tmp_path / "model.npz"))
    )
    run(code, installed)


def test_an_edit_of_a_package_changes_the_fingerprints_of_its_jobs(tmp_path: Path) -> None:
    install(EXAMPLE, tmp_path)
    train = tmp_path / "kerhrm_cvar" / "train.py"
    code = """
from kerhrm.jobs.fingerprint import fingerprint
from kerhrm.methods.registry import METHODS
for name in ("cvar", "erm"):
    print(fingerprint("workflow/scripts/train_method.py", *METHODS[name].entries))
"""
    before = run(code, tmp_path).split()
    train.write_text(train.read_text() + "EDITED = 1\n")
    after = run(code, tmp_path).split()
    assert (after[0] != before[0], after[1] != before[1]) == (True, False)


def test_a_method_in_the_repository(tmp_path: Path) -> None:
    """Its files, and the line among those of the registry."""
    shutil.copytree(ROOT / "src" / "kerhrm", tmp_path / "kerhrm")
    room = tmp_path / "kerhrm" / "methods" / "cvar"
    room.mkdir()
    (room / "__init__.py").touch()
    shutil.copy(EXAMPLE / "kerhrm_cvar" / "train.py", room)
    shutil.copy(EXAMPLE / "kerhrm_cvar" / "__init__.py", room / "options.py")
    registry = tmp_path / "kerhrm" / "methods" / "registry.py"
    text, start = registry.read_text(), "_BUILT_IN = (\n"
    assert start in text
    registry.write_text(
        text.replace(start, f"{start}    {block('python', '_baseline(').strip()},\n")
    )
    code = """
from kerhrm.config.methods import Methods
from kerhrm.entries import check
from kerhrm.methods.registry import METHODS
assert Methods().cvar.share == 0.2
print(METHODS["cvar"].rows[0].title, check(METHODS["cvar"].entry))
"""
    assert run(code, tmp_path).split() == ["CVaR", "kerhrm.methods.cvar.train:train_cvar"]
