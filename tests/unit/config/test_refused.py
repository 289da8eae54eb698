"""Whatever is wrong in a configuration is told in one line: file, key there, value, cure."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from configtools import SHIPPED, Spoil, Told, Write

from kerhrm.config.files import read
from kerhrm.config.resolve import resolve
from kerhrm.data.registry import DATA_SETS, DataSet
from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import METHODS, Method, Row

NAMES = [p.stem for p in (SHIPPED / "experiments").glob("*.yaml")]
TABLES = [f"dataset_{p.stem}" for p in (SHIPPED / "datasets").glob("*.yaml")]
EXPERIMENTS = ", ".join(sorted([*NAMES, *TABLES]))


# the command line


@pytest.mark.parametrize(
    ("top", "message"),
    [
        ({"preset": "smok"}, "preset = 'smok': no such preset; did you mean 'smoke'?"),
        ({"preset": "zzz"}, "preset = 'zzz': no such preset; known are: fresh, paper, smoke"),
        ({"preset": None}, "preset = None: no such preset; known are: fresh, paper, smoke"),
        ({"devise": "cpu"}, "devise = 'cpu': no such key; did you mean 'device'?"),
        ({"device": "gpu"}, "device = 'gpu': choose auto, cpu, cuda or cuda:0, cuda:1, ..."),
        ({"device": "cuda:"}, "device = 'cuda:': choose auto, cpu, cuda or cuda:0, cuda:1, ..."),
        ({"device": 3}, "device = 3: write text"),
        ({"threads": 0}, "threads = 0: write a number above 0"),
        ({"threads": True}, "threads = True: write a number, not a truth value"),
        ({"threads": -1}, "threads = -1: write a number above 0"),
        ({"on_missing": "shrug"}, "on_missing = 'shrug': choose 'stand-in' or 'fail'"),
        ({"results": 3}, "results = 3: write text"),
        ({"results": ""}, "results = '': write some text"),
        ({"raw_dir": "nowhere"}, "raw_dir = 'nowhere': there is no such folder"),
        ({"tuned": "nowhere"}, "tuned = 'nowhere': there is no such folder"),
        ({3: 4}, "3 = 4: no such key; known are: preset, results, raw_dir, tuned, on_missing, "
         "device, threads, experiments, methods, datasets"),
        ({"experiments": 3}, "experiments = 3: write 'key: value' lines"),
        ({"experiments": {"regresion": None}},
         "experiments.regresion = None: nothing to leave out; did you mean 'regression'?"),
        ({"experiments": {"regresion": {"seeds": 2}}},
         "experiments.regresion: title is missing; add it, or did you mean 'regression'?"),
        ({"methods": {"erm": {"selected": {"steps": 0}}}},
         "methods.erm.selected.steps = 0: write a number above 0"),
    ],
)  # fmt: skip
def test_the_command_line_is_checked(told: Told, top: dict[Any, Any], message: str) -> None:
    assert told(top) == f"--config: {message}"


def test_a_file_of_the_command_line_is_named(folder: Path, write: Write) -> None:
    """Snakemake hands over its content, merged with ``--config``."""
    write("mine", {"threads": 0, "device": "cpu"})
    for top, name in (({"threads": 0}, "config/mine.yaml"), ({"threads": -1}, "--config")):
        with pytest.raises(KerhrmError, match=f"^{name}: threads = "):
            resolve(top | {"device": "cpu"}, folder, [folder / "mine.yaml"])


def test_the_top_file_is_named(told: Told, write: Write) -> None:
    write("config", {"preset": "smoke", "device": "gpu"})
    assert told({}).startswith("config/config.yaml: device = 'gpu': choose auto, ")


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("none.yaml", None, "none.yaml: cannot be read: No such file or directory"),
        ("paper.yaml", {}, "--config: preset = 'paper.yaml': its results would be those of the "
         "preset 'paper'; rename it"),
        ("a b.yaml", {}, "--config: preset = 'a b.yaml': it names a folder: write letters, digits "
         "and . _ -"),
        ("mine.yaml", {"preset": "smoke"},
         "mine.yaml: preset = 'smoke': a preset names no other one; leave it out"),
        ("mine.yaml", {"threads": 0}, "mine.yaml: threads = 0: write a number above 0"),
    ],
)  # fmt: skip
def test_a_preset_of_ones_own_is_checked(
    told: Told, write: Write, path: str, content: dict[str, Any] | None, message: str
) -> None:
    if content is not None:
        write(f"../{path.removesuffix('.yaml')}", content)
    assert told({"preset": path}) == message


# a key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metods: {}", "metods: no such key; did you mean 'methods'?"),
        ("thraeds: 3", "thraeds = 3: no such key; did you mean 'threads'?"),
        ("methods: {emr: {}}", "methods.emr: no such key; did you mean 'erm'?"),
        ("methods: {erm: {selected: {step: 3}}}",
         "methods.erm.selected.step = 3: no such key; did you mean 'steps'?"),
        ("methods: {erm: {steps: 3}}",
         "methods.erm.steps = 3: no such key; known are: grid, selected, rules"),
        ("methods: {erm: {selected: {zzz: 3}}}",
         "methods.erm.selected.zzz = 3: no such key; known are: steps, learning_rate, "
         "evaluate_every"),
        ("methods: {kerhrm: {clustering: {restart: 3}}}",
         "methods.kerhrm.clustering.restart = 3: no such key; did you mean 'restarts'?"),
        ("experiments: {classification: {data: {n_tset: 3}}}",
         "experiments.classification.data.n_tset = 3: no such key; did you mean 'n_test'?"),
        ("experiments: {classification: {seed: 3}}",
         "experiments.classification.seed = 3: no such key; did you mean 'seeds'?"),
        ("experiments: {classification: {settings: {r2=0.70: {dta: 3}}}}",
         "experiments.classification.settings.r2=0.70.dta = 3: no such key; did you mean 'data'?"),
        ("experiments: {classification: {settings: {r2=0.70: {data: {generator: houses, r2: 1}}}}}",
         "experiments.classification.settings.r2=0.70.data.r2 = 1: no such key; known are: "
         "generator, train_fraction, validation_fraction, scale, price_scale, clip, price"),
        ("experiments: {clasification: {}}",
         "experiments.clasification: title is missing; add it, or did you mean 'classification'?"),
        ("experiments: {1: {title: A, table: a, seeds: 1}}",
         "experiments.1.settings: write at least 1"),
        ("experiments: {clasification: null}",
         "experiments.clasification = None: nothing to leave out; "
         "did you mean 'classification'?"),
        ("experiments: {x: null}",
         f"experiments.x = None: nothing to leave out; known are: {EXPERIMENTS}"),
        ("experiments: {classification: {settings: {r2=0.08: null}}}",
         "experiments.classification.settings.r2=0.08 = None: nothing to leave out; "
         "did you mean 'r2=0.80'?"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_told_with_the_nearest(spoilt: Spoil, text: str, message: str) -> None:
    assert spoilt(text) == message


@pytest.mark.parametrize(
    ("file", "tree", "message"),
    [
        ("methods/kerhrm", {"k": 10}, "k = 10: write a list"),
        ("methods/kerhrm", {"itrations": 3}, "itrations = 3: no such key; "
         "did you mean 'iterations'?"),
        ("methods/emr", {}, "no such key; did you mean 'erm'?"),
        ("tuned/regression", {"dro": {"selected": {"roh": 0.25}}},
         "dro.selected.roh = 0.25: no such key; did you mean 'rho'?"),
        ("tuned/houses", {"irm": {"rules": {"pooled validation": {"weight": "x"}}}},
         "irm.rules.pooled validation.weight = 'x': write a number"),
    ],
)  # fmt: skip
def test_the_file_that_holds_the_key_is_named(
    told: Told, write: Write, file: str, tree: dict[str, Any], message: str
) -> None:
    write(file, tree)
    assert told({}) == f"config/{file}.yaml: {message}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": None}, "table = None: write text"),
        ({"tabel": "table1"}, "tabel = 'table1': no such key; did you mean 'table'?"),
        ({"data": {"generator": "clasification"}},
         "data.generator = 'clasification': no such data set; did you mean 'classification'?"),
        ({"data": {}}, "settings.r2=0.70.data: generator is missing; add it"),
        ({"run": ["emr"]}, "run.0 = 'emr': no such method; did you mean 'erm'?"),
        ({"run": None}, "run = None: write at least 1"),
        ({"settings": 3}, "settings = 3: write 'key: value' lines"),
        ({"settings": None}, "settings = None: write at least 1"),
    ],
)  # fmt: skip
def test_an_experiments_file_is_named(
    told: Told, folder: Path, write: Write, change: dict[str, Any], message: str
) -> None:
    tree = read(folder / "experiments" / "classification.yaml").content
    write("experiments/classification", tree | change)
    assert told({}) == f"config/experiments/classification.yaml: {message}"


def test_a_missing_key_is_told(told: Told, folder: Path, write: Write) -> None:
    tree = read(folder / "experiments" / "classification.yaml").content
    del tree["table"]
    write("experiments/classification", tree)
    assert told({}) == "config/experiments/classification.yaml: table is missing; add it"


# no mapping


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("methods: 3", "methods = 3"),
        ("methods: {erm: 3}", "methods.erm = 3"),
        ("experiments: [classification]", "experiments = ['classification']"),
        ("experiments: {classification: 3}", "experiments.classification = 3"),
        ("experiments: {classification: {data: 3}}", "experiments.classification.data = 3"),
        ("experiments: {classification: {methods: 3}}", "experiments.classification.methods = 3"),
        ("experiments: {classification: {settings: [a]}}",
         "experiments.classification.settings = ['a']"),
        ("experiments: {classification: {settings: {a: b}}}",
         "experiments.classification.settings.a = 'b'"),
        ("experiments: {classification: {settings: {a: {data: 3}}}}",
         "experiments.classification.settings.a.data = 3"),
        ("experiments: {classification: {settings: {a: {methods: {dro: 3}}}}}",
         "experiments.classification.settings.a.methods.dro = 3"),
    ],
)  # fmt: skip
def test_a_value_where_a_mapping_belongs_is_named(spoilt: Spoil, text: str, shown: str) -> None:
    assert spoilt(text) == f"{shown}: write 'key: value' lines"


# a file


@pytest.mark.parametrize(
    "name",
    ["config", "presets/paper", "methods/erm", "experiments/classification", "tuned/regression"],
)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [b\nc: d", "line 2 is not valid YAML: while parsing a flow sequence did not find "
         "expected ',' or ']'"),
        ("a: b: c", "line 1 is not valid YAML: mapping values are not allowed in this context"),
        ("a: 1\nb: {c: 1,\n  c: 2}", "line 3 is not valid YAML: the key 'c' is given twice"),
        ("1: a\n'1': b", "line 2 is not valid YAML: the key '1' is given twice"),
        ("[a]: b", "line 1 is not valid YAML: a key is plain text"),
        ("- a", "write 'key: value' lines"),
        ("3", "write 'key: value' lines"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_mapping_is_told(
    told: Told, folder: Path, name: str, text: str, message: str
) -> None:
    (folder / "tuned").mkdir()
    (folder / f"{name}.yaml").write_text(text)
    assert told({}) == f"config/{name}.yaml: {message}"


def test_yaml_is_read_as_it_stands(tmp_path: Path) -> None:
    """Keys are text; anchors merge, and what they bring may be given again."""
    path = tmp_path / "a.yaml"
    path.write_text("# nothing\n")
    assert read(path).content == {}
    path.write_text("0.70: &a {yes: 1, b: 2}\nc: &c {<<: *a, b: 3}\nd: {<<: *c, b: 4, e: 0.70}\n")
    assert read(path).content == {
        "0.70": {"yes": 1, "b": 2},
        "c": {"yes": 1, "b": 3},
        "d": {"yes": 1, "b": 4, "e": 0.7},
    }


def test_yaml_makes_no_python_objects(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: !!python/object/apply:os.getcwd []")
    with pytest.raises(KerhrmError, match=r"a\.yaml: line 1 is not valid YAML"):
        read(tmp_path / "a.yaml")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: \xff", "'utf-8' codec"),
        (b"a: 2026-13-45", "month must be in"),
        (b"a: !!int x", "invalid literal"),
        (b"a: " + 5000 * b"[", "maximum recursion depth"),
        (b"a: 1\n---\nb: 2", "expected a single document"),
    ],
    ids=["no text", "no date", "no number", "no end", "two documents"],
)
def test_a_file_that_is_no_yaml_is_told(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.yaml").write_bytes(content)
    with pytest.raises(KerhrmError, match=rf"a\.yaml: .*not valid YAML: {message}"):
        read(tmp_path / "a.yaml")


def test_a_missing_folder_is_told(told: Told, folder: Path) -> None:
    shutil.rmtree(folder)
    assert told({}) == "config/config.yaml: cannot be read: No such file or directory"


def test_no_experiment_at_all_is_told(told: Told, folder: Path) -> None:
    shutil.rmtree(folder / "experiments")
    shutil.rmtree(folder / "datasets")
    assert told({}) == "config: experiments: write at least 1"


# a registry's entry


@pytest.mark.parametrize("entry", ["nowhere.at_all:train", "kerhrm.methods.erm.train:trian"])
def test_a_method_that_cannot_be_loaded_is_told(
    spoilt: Spoil, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    row = Row("mine", "Mine", "described", "pooled validation")
    mine = Method("mine", (row,), "points", entry, METHODS["erm"].options, section="erm")
    monkeypatch.setitem(METHODS, "mine", mine)
    text = spoilt("experiments: {classification: {run: [erm, mine]}}")
    assert text.startswith(f"experiments.classification.run.1 = 'mine': cannot load '{entry}': ")


def test_a_data_set_that_cannot_be_made_is_told(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = DataSet("houses", DATA_SETS["houses"].options, "nowhere:generate", "regression")
    monkeypatch.setitem(DATA_SETS, "houses", mine)
    assert "data: cannot load 'nowhere:generate': " in told({})
