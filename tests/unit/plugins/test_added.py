"""What installed packages add to the registries, and what is told of those that cannot."""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from plugintools import write_info

from kerhrm import entries
from kerhrm.algorithm import penalties
from kerhrm.data import registry as data_sets
from kerhrm.errors import KerhrmError
from kerhrm.methods import registry as methods

DECLARED = """
from kerhrm.data.declared import DataSet
from kerhrm.methods.declared import NONE, Method, Row
from kerhrm.sections import Section

class Options(Section):
    "Of nothing."

def method(name="mine", stem="mine", title="Mine", entry="shelf:fit", options="shelf:Options", **m):
    return Method(name, (Row(stem, title, "described", NONE),), m.pop("reads", "points"), entry,
                  options, **m)

def fit():
    pass

fine = method()
another_name = method("other")
another_stem = method(stem="other")
another_section = method(section="erm")
a_step = method(reads="kerhrm")
one_row = method(reads="whole")
same_title = method(title="ERM")
same_reference = method(title="ref: majority")
no_options = method(options="shelf:Absent")
no_section = method(options="shelf:fit")
no_code = method(entry="shelf.absent:fit")
data = DataSet("mine", "shelf:Options", "shelf:fit", "regression")
raw = DataSet("mine", "shelf:Options", "shelf:fit", "regression", raw="stones")
"""
METHODS = {name: method for name, method in methods.METHODS.items() if name in ("erm", "dro")}
Write = Callable[..., None]


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Installs packages with entry points; ``shelf`` is a module, ``ruin`` one that fails."""
    (tmp_path / "shelf.py").write_text(DECLARED)
    (tmp_path / "ruin.py").write_text("1 / 0  # on\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield lambda name, **groups: write_info(tmp_path, name, groups)
    entries._packages.cache_clear()
    for name in ("shelf", "ruin"):
        sys.modules.pop(name, None)


def read(name: str, entry: str, so_far: Mapping[str, str]) -> str:
    return f"{entry} after {len(so_far)}"


def add(write: Write, registry: str, entry: str, name: str = "mine") -> object:
    """What a registry makes of one entry point."""
    entries._packages.cache_clear()
    write("my-shelf", **{f"kerhrm.{registry}": {name: entry}})
    if registry == "methods":
        return entries.added("kerhrm.methods", METHODS, methods._of_a_package)[name]
    if registry == "data_sets":
        return entries.added("kerhrm.data_sets", {}, data_sets._of_a_package)[name]
    known = dict(penalties.PENALTIES)
    return entries.added("kerhrm.penalties", known, lambda n, e, _: entries.check(e))[name]


def test_packages_come_by_their_names(packages: Write) -> None:
    packages("zoo", **{"kerhrm.animals": {"ape": "zoo:Ape", "bee": "zoo:Bee"}, "other": {"x": "y"}})
    packages("ark", **{"kerhrm.animals": {"cow": "ark:Cow"}})
    packages("unrelated", console_scripts={"ape": "zoo:main"})
    entries._packages.cache_clear()
    assert [package.name for package in entries._packages()] == ["ark", "zoo"]
    found = entries.added("kerhrm.animals", {"ant": "here"}, read)
    assert list(found.items()) == [
        ("ant", "here"),
        ("cow", "ark:Cow after 1"),
        ("ape", "zoo:Ape after 2"),
        ("bee", "zoo:Bee after 3"),
    ]
    assert entries.added("kerhrm.plants", {"ant": "here"}, read) == {"ant": "here"}


def test_what_python_finds_first_counts(
    packages: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages("zoo", **{"kerhrm.animals": {"ape": "zoo:Ape"}})
    write_info(tmp_path / "first", "zoo", {"kerhrm.animals": {"ape": "zoo:Other"}})
    monkeypatch.syspath_prepend(tmp_path / "first")
    entries._packages.cache_clear()
    assert entries.added("kerhrm.animals", {}, read) == {"ape": "zoo:Other after 0"}


@pytest.mark.parametrize(
    ("other", "owner"), [("zoo", "package ark"), ("zoo", "kerhrm"), ("bat", "package ark")]
)
def test_a_name_that_is_taken(packages: Write, other: str, owner: str) -> None:
    packages("ark", **{"kerhrm.animals": {"cow": "ark:Cow"}})
    packages(other, **{"kerhrm.animals": {"cow": "zoo:Cow"}})
    entries._packages.cache_clear()
    known, guilty = ({"cow": "here"}, "ark") if owner == "kerhrm" else ({}, other)
    with pytest.raises(KerhrmError) as told:
        entries.added("kerhrm.animals", known, read)
    assert str(told.value) == (
        f"package {guilty} 0.1, kerhrm.animals: cow: {owner} has one of that name; "
        f"correct the package, or pip uninstall {guilty}"
    )


@pytest.mark.parametrize(
    ("registry", "entry", "problem"),
    [
        ("methods", "shelf:Absent", "cannot load 'shelf:Absent'"),
        ("methods", "absent:fine", "No module named 'absent'"),
        ("methods", "shelf", "'shelf' is no entry point"),
        ("methods", "ruin:fine", "ZeroDivisionError: division by zero"),
        ("methods", "shelf:Options", "is no kerhrm.methods.declared.Method"),
        ("methods", "shelf:another_name", "is called 'other'"),
        ("methods", "shelf:another_section", "its section 'erm'"),
        ("methods", "shelf:another_stem", r"the stems of its rows are not \['mine'\]"),
        ("methods", "shelf:a_step", "or it is a step of KerHRM"),
        ("methods", "shelf:one_row", r"are not \['mine', 'mine-ntf'\]"),
        ("methods", "shelf:same_title", "another row is called 'ERM'"),
        ("methods", "shelf:same_reference", "another row is called 'ref: majority'"),
        ("methods", "shelf:no_options", "cannot load 'shelf:Absent'"),
        ("methods", "shelf:no_section", "TypeError: "),
        ("methods", "shelf:no_code", "cannot load 'shelf.absent:fit'"),
        ("data_sets", "shelf:fine", "is no kerhrm.data.declared.DataSet"),
        ("data_sets", "shelf:raw", "there are no raw data 'stones'"),
        ("data_sets", "shelf:data", "is no kerhrm.sections.Section with a generator"),
        ("penalties", "shelf:Absent", "defines no Absent"),
        ("penalties", "absent:Penalty", "absent"),
    ],
)
def test_a_package_that_is_broken(packages: Write, registry: str, entry: str, problem: str) -> None:
    with pytest.raises(KerhrmError, match=problem) as told:
        add(packages, registry, entry)
    text = str(told.value)
    assert text.startswith(f"package my-shelf 0.1, kerhrm.{registry}: mine: ")
    assert text.endswith("; correct the package, or pip uninstall my-shelf")
    assert "\n" not in text


def test_a_package_that_is_not(packages: Write) -> None:
    added = add(packages, "methods", "shelf:fine")
    assert isinstance(added, methods.Method)
    assert added.rows[0].title == "Mine"
