"""What is fixed before the fresh seeds are run, and who is refused afterwards."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from kerhrm.cli import main
from kerhrm.config.fresh import MORE, PRESET, SPREAD
from kerhrm.config.names import folder_of
from kerhrm.config.presets import DEVELOPMENT, FRESH
from kerhrm.config.resolve import resolve
from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import METHODS, ORACLE
from kerhrm.reporting import freeze as module
from kerhrm.reporting.freeze import Frozen, code_digest, digest, freeze, spreading, stored
from kerhrm.scoring.metrics import COLUMNS

ROOT = Path(__file__).parents[3]
#: two experiments, of which `all` makes one; `apart` is not frozen
ONE = """\
title: One
table: table1
seeds: 3
run: [erm, dro]
data: {generator: classification}
settings: {a: {}, "a,H=I": {data: {scramble: identity}}}
"""
APART = ONE.replace("table1", "apart") + "in_all: false\n"
NAME, LABEL, METHOD = "one", "a,H=I", "dro"
CALM, WIDE = [0.5, 0.6], [0.2, 0.6]


def scores(
    values: dict[str, list[float]], metric: str = "test_acc", rule: str = "", source: str = "mnist"
) -> pd.DataFrame:
    """Scores of methods by name."""
    rows = [
        ("a", row.title, seed, metric, value, rule or row.rule, source, "")
        for name, numbers in values.items()
        for row in METHODS[name].rows
        for seed, value in enumerate(numbers)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def write(run: Path, name: str, label: str, *parts: pd.DataFrame) -> None:
    folder = run / name / folder_of(label)
    folder.mkdir(parents=True, exist_ok=True)
    pd.concat(parts).to_csv(folder / "scores.csv", index=False)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What is frozen of a checkout, in which nothing is."""
    folder = tmp_path / "checkout"
    for name in ("envs", "workflow/scripts"):
        shutil.copytree(ROOT / name, folder / name)
    for path, text in (
        ("config.yaml", "preset: paper\n"),
        ("presets/paper.yaml", ""),
        ("experiments/one.yaml", ONE),
        ("experiments/apart.yaml", APART),
    ):
        (folder / "config" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "config" / path).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def config(checkout: Path) -> dict[str, Any]:
    return resolve({"preset": DEVELOPMENT}, checkout / "config").plain()


@pytest.fixture
def run(tmp_path: Path, config: dict[str, Any]) -> Path:
    """Calm scores of every setting of `all`."""
    folder = tmp_path / "results" / "paper"
    for label, setting in config["experiments"][NAME]["settings"].items():
        write(folder, NAME, label, scores(dict.fromkeys(setting["run"], CALM)))
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return folder


def changed(experiments: dict[str, Any], *path: str, value: Any) -> dict[str, Any]:
    """A copy with another value at a place."""
    key, *rest = path
    inner = changed(experiments[key], *rest, value=value) if rest else value
    return experiments | {key: inner}


def test_the_headline_is_as_frozen() -> None:
    """Else: what `all` makes has changed since, see docs/freeze.md."""
    frozen = stored(ROOT)
    if frozen is None:
        pytest.skip("nothing is frozen yet")
    assert {"configuration", "fresh"}.isdisjoint(frozen.departures(ROOT))


def test_a_hash_is_of_what_changes_numbers(config: dict[str, Any]) -> None:
    tree = config["experiments"]
    before = digest(tree, seeds=False), digest(tree, seeds=True)
    at = (NAME, "settings", LABEL)

    def later(value: float) -> dict[str, Any]:
        """A section with an option that came after the freeze."""
        section = tree[NAME]["settings"][LABEL]["methods"][METHOD]
        return section | {"weight_decay": value}

    for other in (
        changed(tree, NAME, "title", value="Another"),
        changed(tree, "apart", "seeds", "data", value=[7]),
        changed(tree, *at, "methods", "hrm", value={"of": "no one"}),
        changed(tree, *at, "methods", METHOD, value=later(0.0)),
        dict(reversed(tree.items())),
    ):
        assert (digest(other, seeds=False), digest(other, seeds=True)) == before
    for other in (
        changed(tree, *at, "methods", METHOD, value={"another": 1}),
        changed(tree, *at, "methods", METHOD, value=later(0.1)),
        changed(tree, *at, "methods", "kerhrm", value={"another": 1}),  # for who lays over it
        changed(tree, *at, "data", "r2", value=0.71),
        changed(tree, *at, "run", value=["erm"]),
        changed(tree, NAME, "in_all", value=False),
        changed(tree, NAME, "table", value="table9"),
    ):
        assert digest(other, seeds=False) != before[0]
        assert digest(other, seeds=True) != before[1]
    other = changed(tree, NAME, "seeds", "data", value=[7])
    assert digest(other, seeds=False) == before[0]
    assert digest(other, seeds=True) != before[1]


def test_a_hash_survives_a_file(config: dict[str, Any]) -> None:
    again = yaml.safe_load(yaml.safe_dump(config["experiments"], sort_keys=False))
    assert digest(again, seeds=True) == digest(config["experiments"], seeds=True)


def test_what_spreads_by_the_methods_own_rule_has_more_seeds(
    run: Path, config: dict[str, Any]
) -> None:
    tree = config["experiments"]
    assert spreading(run, tree) == {}
    calm = scores({METHOD: CALM})
    for extra, found in (
        (scores({METHOD: WIDE}, "train_acc"), False),
        (scores({METHOD: WIDE}, rule=ORACLE), False),
        (scores({METHOD: [*WIDE, float("nan")]}), False),  # failed
        # the deviation of two values is their distance over the root of two
        (scores({METHOD: [0.5, 0.5 + 1.41 * SPREAD * 0.02]}), False),
        (scores({METHOD: [0.5, 0.5 + 1.42 * SPREAD * 0.02]}), True),
        (scores({METHOD: [1.3, 2.7]}, "mean_error"), False),  # half of the mean of 2
        (scores({METHOD: [1.2, 2.8]}, "mean_error"), True),
        (scores({METHOD: WIDE}), True),
    ):
        write(run, NAME, LABEL, calm.assign(setting="period=1"), extra)
        assert spreading(run, tree) == ({NAME: {LABEL: [METHOD]}} if found else {})
    write(run, NAME, LABEL, calm, scores({METHOD: WIDE}, source="stand-in:digits"))
    with pytest.raises(KerhrmError, match=r"scores\.csv holds stand-in data"):
        spreading(run, tree)


def test_a_freeze_is_the_preset_and_the_hashes(
    checkout: Path, run: Path, config: dict[str, Any]
) -> None:
    write(run, NAME, LABEL, scores({METHOD: WIDE}))
    found = freeze(run, checkout)
    assert stored(checkout) == found
    assert found.further == {NAME: {LABEL: [METHOD]}}
    assert found.commit is None  # no repository
    assert found.departures(checkout) == []
    fresh = resolve({"preset": FRESH}, checkout / "config")
    assert fresh.experiments[f"{NAME}{MORE}"].settings[LABEL].run == [METHOD]
    assert freeze(run, checkout) == found  # as often as one likes

    found.check_run(config, checkout)
    found.check_run(fresh.plain(), checkout)
    reseeded = changed(config, "experiments", NAME, "seeds", "data", value=[7])
    found.check_run(reseeded, checkout)  # of the development seeds nothing is said
    other = changed(fresh.plain(), "experiments", NAME, "seeds", "data", value=[7])
    with pytest.raises(KerhrmError, match="configuration is not the frozen one; freeze anew"):
        found.check_run(other, checkout)
    other = changed(config, "experiments", NAME, "settings", LABEL, "run", value=[])
    with pytest.raises(KerhrmError, match="configuration is not the frozen one; freeze anew"):
        found.check_run(other, checkout)


def edit(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def test_departures_are_named(checkout: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = freeze(run, checkout)
    edit(checkout / PRESET, lambda text: text.replace("1002", "1003"))
    assert found.departures(checkout) == ["fresh"]
    edit(checkout / "envs" / "torch.txt", lambda text: f"{text}\n")
    assert found.departures(checkout) == ["fresh", "versions"]
    path = checkout / "config" / "experiments" / f"{NAME}.yaml"
    edit(path, lambda text: f"{text}network: {{widths: [8]}}\n")
    assert found.departures(checkout) == ["configuration", "fresh", "versions"]
    edit(checkout / "workflow/scripts/score.py", lambda text: f"{text}EDITED = True\n")
    module.fingerprint.__globals__["_dependence"].cache_clear()
    assert found.departures(checkout) == ["configuration", "fresh", "code", "versions"]
    monkeypatch.setattr(module.platform, "python_version_tuple", lambda: ("4", "0", "0"))
    assert found.departures(checkout) == ["configuration", "fresh", "versions"]


def test_code_that_only_reports_is_not_frozen(checkout: Path) -> None:
    before = code_digest(checkout)
    scripts = checkout / "workflow" / "scripts"
    (scripts / "summarise.py").unlink()
    assert code_digest(checkout) == before
    (scripts / "train_method.py").unlink()
    assert code_digest(checkout) != before


def test_only_the_run_of_this_configuration_is_frozen(
    checkout: Path, run: Path, config: dict[str, Any]
) -> None:
    for other, told in (
        (config | {"preset": FRESH}, "is no run at preset paper; run without preset"),
        (changed(config, "experiments", NAME, "seeds", "data", value=[7]), "of another config"),
    ):
        (run / "config.yaml").write_text(yaml.safe_dump(other), encoding="utf-8")
        with pytest.raises(KerhrmError, match=told):
            freeze(run, checkout)
    assert stored(checkout) is None


def test_an_incomplete_run_is_not_frozen(checkout: Path, run: Path) -> None:
    (run / NAME / folder_of(LABEL) / "scores.csv").unlink()
    with pytest.raises(KerhrmError, match=r"there is no .*scores\.csv; run the workflow first"):
        freeze(run, checkout)
    (run / "config.yaml").unlink()
    with pytest.raises(KerhrmError, match=r"has no config\.yaml; run the workflow first"):
        freeze(run, checkout)
    assert stored(checkout) is None


def test_the_command(
    checkout: Path, run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(checkout)
    with pytest.raises(SystemExit, match="nothing is frozen; run `kerhrm freeze`"):
        main(["freeze", "--check"])
    write(run, NAME, LABEL, scores({METHOD: WIDE}))
    main(["freeze", "--run", str(run)])
    frozen: Frozen | None = stored(checkout)
    assert frozen is not None
    told = capsys.readouterr().out.splitlines()
    assert told[0].endswith(f"configuration {frozen.configuration}")
    assert told[1:] == [f"20 seeds: {NAME}, {LABEL}: {METHOD}"]
    main(["freeze", "--check"])
    assert capsys.readouterr().out == f"as frozen: configuration {frozen.configuration}\n"
    edit(checkout / "envs" / "torch.txt", lambda text: f"{text}\n")
    with pytest.raises(SystemExit, match=r"error: not as frozen: versions; docs/freeze\.md"):
        main(["freeze", "--check"])
