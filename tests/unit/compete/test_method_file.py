"""Files with a method: what is read of them, and what is refused in one line."""

import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from method_text import TEMPLATE, Write
from pagetools import blocks
from plugintools import run
from refusals import refusal

from kerhrm import NetworkOptions, build
from kerhrm.cli import main
from kerhrm.errors import KerhrmError, described
from kerhrm.methods.inputs import Inputs
from kerhrm_paper.compete.configuration import Shipped
from kerhrm_paper.compete.contest import write_template
from kerhrm_paper.compete.method_file import MethodFile, load_method
from kerhrm_paper.runs.fitted_check import check_output

CANDIDATES = TEMPLATE[TEMPLATE.index("CANDIDATES = [") :]
SHARE = (
    'share: Probability = option(0.2, "of the points, those with the largest losses")\n'
)


SILENT = """class Silent(Exception):
    def __str__(self):
        raise ValueError
raise Silent
"""


def refused(path: Path) -> str:
    """The line that refuses a file."""
    with pytest.raises(KerhrmError) as error:
        load_method(path, ["grayscale"], ["Mine too"])
    text = str(error.value)
    assert len(text.splitlines()) == 1
    assert path.name in text
    return text


def example(name: str) -> str:
    """The method file of the docs with this method."""
    page = Path(__file__).parents[3] / "docs" / "extending.md"
    (found,) = [block for block in blocks(page, "python") if f'"{name}"' in block]
    return found


def test_the_template_is_a_method_of_eight_candidates(method: MethodFile) -> None:
    assert method.name == "my_method"
    assert method.titles == {"model": "My method"}
    assert len(method.candidates) == 8
    random = torch.Generator().manual_seed(0)
    x = torch.randn(40, 2, generator=random)
    y = x[:, 0].sign()
    options_of_network = NetworkOptions(widths=[4])
    network = build(options_of_network, seed=0, d=2)
    inputs = Inputs(
        x,
        y,
        x,
        y,
        "classification",
        seed=0,
        network=network,
    )
    train = method.method.train
    options = method.method.options(
        steps=200,
        learning_rate=0.01,
        share=1.0,
    )
    learned = train(inputs, options)
    outputs = learned.predict(x)["model"]
    hits = (outputs > 0) == (y > 0)
    accuracy = float(hits.float().mean())
    assert accuracy > 0.9


def test_the_loop_of_the_docs_competes(write: Write) -> None:
    """It stops as train_model does: on a line that the validation points reverse."""
    method = load_method(write(example("my_loop")), [], [])
    x = torch.linspace(-1, 1, 40)[:, None]
    y = x[:, 0].sign()
    network = build(NetworkOptions(widths=[4]), seed=0, d=1)
    for sign in (1, -1):
        inputs = Inputs(x, y, x, sign * y, "classification", seed=0, network=network)
        options = method.method.options(steps=60, learning_rate=0.01)
        learned = method.method.train(inputs, options)
        alike = SimpleNamespace(steps=60, learning_rate=0.01, evaluate_every=25)
        theirs = inputs.train_model(lambda f, *_: ((f - y) ** 2).mean(), alike)
        outputs = check_output(learned.predict(x)["model"], "model", len(x))
        assert outputs.tolist() == pytest.approx(theirs(x).tolist(), abs=1e-5)


def test_the_example_of_numpy_in_the_docs_competes(write: Write) -> None:
    text = example("numpy_ridge")
    path = write(text)
    method = load_method(path, [], [])
    assert method.candidates == [{"ridge": ridge} for ridge in (0.1, 1.0, 10.0)]
    x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    y = torch.tensor([1.0, -1.0])
    network = build(NetworkOptions(widths=[4]), seed=0, d=2)
    inputs = Inputs(x, y, x, y, "regression", seed=0, network=network)
    learned = method.method.train(inputs, method.method.options(ridge=1.0))
    # weights y x / (x^2 + 1), as the columns are orthogonal
    outputs = check_output(learned.predict(x)["model"], "model", 2)
    assert outputs.tolist() == pytest.approx([0.5, -0.8])


def test_a_file_is_imported_once(write: Write, tmp_path: Path) -> None:
    count = tmp_path / "count"
    text = TEMPLATE + f"\nopen({str(count)!r}, 'a').write('x')\nprint('noise')\n"
    load_method(write(text), [], [])
    assert count.read_text() == "x"


def test_outputs_have_a_title_each(write: Write) -> None:
    declared = "train_my_method, outputs=('one', 'two'))\n"
    text = TEMPLATE.replace("train_my_method)\n", declared)
    path = write(text)
    method = load_method(path, [], [])
    assert method.titles == {"one": "My method (one)", "two": "My method (two)"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("METHOD = M", "1 / 0\nMETHOD = M", "line 52: ZeroDivisionError: division by"),
        (
            "METHOD = M",
            "assert False\nMETHOD = M",
            "line 52: AssertionError; correct it",
        ),
        ('"my_method"', "3", "its name must be text; got 3"),
        (
            "share: Probability",
            "share: 'Absent'",
            "not fully defined; import the types",
        ),
        (
            "METHOD = M",
            "import nothing_here\nMETHOD = M",
            "No module named 'nothing_here'; correct it; it must import by itself",
        ),
        ("METHOD = M", "raise SystemExit(3)\nMETHOD = M", "SystemExit: 3"),
        ("METHOD = M", "METHOD = = M", "SyntaxError"),
        ("METHOD = M", "MINE = M", "has no method called METHOD; call MINE METHOD"),
        ("METHOD = M", "METHOD = 3\nother = M", "must be a Method; got 3"),
        ('my_method", MyOptions', 'my_method", dict', "subclass of Options"),
        ("= option(0.2,", "= option(2.0,", "share"),
        (SHARE, "share: Probability\n", "option share of MyOptions has no default"),
        ("MyOptions, train_my_method)", "MyOptions, 3)", "train must be a function"),
        ('"my_method"', '"erm"', "a method called erm exists already"),
        ('"my_method"', '"Grayscale"', "exists already"),
        ('"my_method"', '"my+method"', "rename it"),
        ('"my_method"', '"score"', "'score' is reserved for the workflow's own files"),
        ("train_my_method)\n", "train_my_method, iterates=True)\n", "iterates"),
        ("train_my_method)\n", "train_my_method, tasks=('ranking',))\n", "tasks"),
        ('"My method"', "3", "TITLE: it must be a text; got 3"),
        ('"My method"', '"mine  Too"', "called 'mine  Too' already"),
        ('"My method"', r'"My\nmethod"', "TITLE: it must be on one line"),
        (CANDIDATES, "CANDIDATES = {'share': [0.1]}", "list of dicts"),
        (CANDIDATES, "CANDIDATES = [{}] * 9", "at most 8"),
        (CANDIDATES, "CANDIDATES = [{'shares': 0.1}]", "did you mean 'share'?"),
        (CANDIDATES, "CANDIDATES = [{'share': 2}]", "the first one: share=2"),
        ("METHOD = M", f"{SILENT}METHOD = M", "line 55: Silent; correct it"),
        ("METHOD = M", "raise BaseException('b')\nMETHOD = M", "BaseException: b;"),
        (
            CANDIDATES,
            "CANDIDATES = [{'steps': 25}, {'steps': 200}, {}]",
            "the third one is the same as the second one; leave one out",
        ),
        (
            CANDIDATES,
            "CANDIDATES = [{'share': 1}, {'share': 1.0}]",
            "second one is the same as the first",
        ),
    ],
)
def test_refused_in_one_line(write: Write, old: str, new: str, words: str) -> None:
    assert old in TEMPLATE
    text = TEMPLATE.replace(old, new, 1)
    line = refused(write(text))
    assert words in line
    is_import = "No module named" in words
    assert ("with what is installed" in line) == is_import


def test_an_interrupt_passes(write: Write) -> None:
    with pytest.raises(KeyboardInterrupt):
        load_method(write("raise KeyboardInterrupt\n"), [], [])


#: an option that the name of a folder cannot give
KIND = """import enum


class Kind(enum.Enum):
    small = "small"
    large = "large"


class MyOptions"""
TWO = "CANDIDATES = [{'kind': Kind.small}, {'kind': Kind.large}]"


def with_kind(candidates: str) -> str:
    text = TEMPLATE.replace("class MyOptions", KIND, 1)
    text = text.replace(
        "    share:", '    kind: Kind = option(Kind.small, "")\n    share:'
    )
    return text.replace(CANDIDATES, candidates)


def test_candidates_differ_in_what_a_folder_can_be_called(write: Write) -> None:
    line = refused(write(with_kind(TWO)))
    assert (
        "the first one: option kind has values that cannot stand in a folder's" in line
    )
    assert "let candidates differ in finite numbers, lists of them" in line
    infinite = TEMPLATE.replace("PositiveFloat =", "float =")
    infinite = infinite.replace(
        CANDIDATES, "CANDIDATES = [{}, {'learning_rate': float('inf')}]"
    )
    line = refused(write(infinite))
    assert "the second one: my_method: learning_rate=inf" in line
    assert "let candidates differ in finite numbers" in line


@pytest.mark.parametrize("text", ["é", "x=1", "a/b", ""])
def test_the_signs_of_texts_are_named(write: Write, text: str) -> None:
    named = TEMPLATE.replace(
        "    share:", '    extra: str = option("a", "")\n    share:'
    )
    candidates = f"CANDIDATES = [{{}}, {{'extra': {text!r}}}]"
    line = refused(write(named.replace(CANDIDATES, candidates)))
    assert "short texts of A-Z, a-z, 0-9, full stops, _ and -," in line


@pytest.mark.parametrize("others", ["", ", {}"])
def test_candidates_are_no_objects(write: Write, others: str) -> None:
    text = TEMPLATE.replace(
        "    share:", '    extra: object = option("a", "")\n    share:'
    )
    candidates = f"CANDIDATES = [{{'extra': object()}}{others}]"
    line = refused(write(text.replace(CANDIDATES, candidates)))
    assert "the first one: options cannot be written to a file" in line


def test_an_error_without_a_usable_text_is_its_type(write: Write) -> None:
    failing = (
        "class Odd(Exception):\n    def __str__(self):\n        raise SystemExit(3)"
    )
    line = refused(write(f"{failing}\n\n\nraise Odd\n"))
    assert line.endswith("line 6: Odd; correct it")
    assert described(ValueError(" \n ")) == "ValueError"
    escapes = "\x1b[2J \u202e \ud800 é"
    assert described(ValueError(escapes)) == r"ValueError: \x1b[2J \u202e \ud800 é"


def test_a_single_candidate_may_have_any_option(write: Write) -> None:
    path = write(with_kind("CANDIDATES = [{'kind': Kind.large}]"))
    method = load_method(path, [], [])
    learner = Shipped("smoke").tables(
        method, ["table1"], 1.0, selected={}, published={}
    )["learners"]["my_method"]
    assert learner["options"] == {"kind": "large"}
    options = method.method.options(**learner["options"])
    assert options.model_dump(mode="json")["kind"] == "large"


def test_a_file_that_changes_the_folder_moves_nothing(write: Write) -> None:
    before = os.getcwd()
    text = "import os\n\nos.chdir(os.path.dirname(__file__))\n" + TEMPLATE
    load_method(write(text), [], [])
    assert os.getcwd() == before


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.py", "none.py does not exist; kerhrm compete --new none.py writes a"),
        ("none", "none does not exist; kerhrm compete --new none.py writes a template"),
        ("a b.py", "does not exist; kerhrm compete --new 'a b.py' writes a template"),
        ("-a.py", "does not exist; kerhrm compete --new ./-a.py writes a template"),
        ("there", "there does not exist; write kerhrm compete there.py"),
        ("dangling.py", "is a link to nothing; delete the link, or name another file"),
        ("there.py/x.py", "there.py is a file, not a folder; correct the path"),
        ("folder.py", "is a folder"),
        ("mine.txt", "ends in .py"),
    ],
)
def test_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.py").mkdir()
    Path("dangling.py").symlink_to("nothing")
    for file in ("mine.txt", "there.py"):
        Path(file).write_text(TEMPLATE)
    assert words in refused(Path(name))


def test_results_of_another_file_are_not_replaced(write: Write, tmp_path: Path) -> None:
    """Its own file may be edited, or moved."""
    folder = tmp_path / "results"
    first = write()
    method = load_method(first, [], [])
    method.claim(folder)
    method.claim(folder)
    second = tmp_path / "second.py"
    second.write_text(TEMPLATE)
    other = load_method(second, [], [])
    with refusal("holds the results of") as caught:
        other.claim(folder)
    assert str(first.resolve()) in str(caught.value)
    first.rename(tmp_path / "moved.py")
    other.claim(folder)
    (folder / "file.txt").write_bytes(b"\xff")  # no text of ours
    other.claim(folder)
    strange = os.fsdecode(b"\xff.py")
    copy = second.rename(tmp_path / strange)
    load_method(copy, [], []).claim(folder)


def test_jobs_find_an_installed_method(method: MethodFile, tmp_path: Path) -> None:
    """By its name in the registry and by its module; an older file is gone."""
    site = tmp_path / "site"
    method.install(site)
    (site / "compete_older.py").write_text("")
    method.install(site)
    found = sorted(os.listdir(site))
    assert found == ["compete_mine-0.dist-info", "compete_mine.py"]
    code = "from kerhrm import METHODS; print(METHODS['my_method'].train.__module__)"
    assert run(code, site).strip() == "compete_mine"


def test_a_contest_of_its_own_copy_deletes_nothing(
    method: MethodFile, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    method.install(site)
    copy = site / "compete_mine.py"
    of_copy = load_method(copy, [], [])
    with refusal(r"which is written again; copy it to"):
        of_copy.install(site)
    assert copy.read_text() == TEMPLATE


def test_a_template_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new.py"
    write_template(path)
    assert path.read_text() == TEMPLATE
    message = re.escape("exists already")
    with refusal(message):
        write_template(path)
    with refusal("not a Python file"):
        write_template(tmp_path / "new")


def test_the_unit_of_a_timeout_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compete", "mine.py", "--timeout", "5s"])
    error = capsys.readouterr().err
    assert "--timeout: it must be a number of minutes, as 5 or 0.5; got '5s'" in error
