"""The transcription of the paper's tables agrees with itself and with the paper's prose."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from kerhrm.errors import KerhrmError
from kerhrm.reporting.paper import PRINTED_AS, Method, PaperValues, load

FILE = Path(__file__).parents[3] / "config" / "paper_values.yaml"
METHODS = ["ERM", "DRO", "EIIL", "HRM", "IRM", "KerHRM-s", "KerHRM"]
REFERENCE = "ref: perfect invariant model"
TABLE1 = ["r2=0.70", "r2=0.75", "r2=0.80"]
TABLE3 = [f"scenario={scenario},r={r}" for scenario in (1, 2) for r in (1.5, 1.9, 2.3)]


@pytest.fixture(scope="module")
def paper() -> PaperValues:
    return load(FILE)


def number(paper: PaperValues, table: str, setting: str, method: str, metric: str) -> float:
    value = paper.lookup(table, setting, method, metric)
    assert value is not None, (table, setting, method, metric)
    return value


def best(
    choose: Callable[..., str], paper: PaperValues, table: str, setting: str, metric: str
) -> str:
    return choose(METHODS, key=lambda method: number(paper, table, setting, method, metric))


def test_every_cell_is_there_and_no_other(paper: PaperValues) -> None:
    accuracies = ["train_acc", "test_acc"]
    errors = ["mean_error", "std_error"]
    expected = {("table1", s, m, metric) for s in TABLE1 for m in METHODS for metric in accuracies}
    expected |= {("table2", "r2=0.80", m, metric) for m in ("IRM", "HRM") for metric in accuracies}
    expected |= {
        ("table2", f"r2=0.80,K={k}", "KerHRM", metric)
        for k in (2, 3, 4, 5)
        for metric in accuracies
    }
    expected |= {("table3", s, m, metric) for s in TABLE3 for m in METHODS for metric in errors}
    expected |= {
        ("table4", "cmnist", m, metric)
        for m in METHODS
        for metric in [*accuracies, "generalisation_gap"]
    }
    expected |= {("table4", "cmnist", REFERENCE, metric) for metric in accuracies}
    assert set(paper.cells) == expected
    counts = Counter(table for table, *_ in paper.cells)
    assert counts == {"table1": 7 * 6, "table2": 6 * 2, "table3": 2 * 7 * 6, "table4": 7 * 3 + 2}


def test_numbers_are_written_as_the_paper_prints_them() -> None:
    text = re.sub(r"#.*", "", FILE.read_text(encoding="utf-8"))
    printed = re.findall(r": (-?[\d.]+)", text)
    assert len(printed) == 42 + 12 + 84 + 23  # so no key is given twice, either
    assert all(re.fullmatch(r"-?\d\.\d{3}", value) for value in printed)


def test_values_are_in_range(paper: PaperValues) -> None:
    for (*_, metric), value in paper.cells.items():
        low, high = {"generalisation_gap": (-1, 1), "mean_error": (3, 6)}.get(metric, (0, 1))
        assert low < value < high


def test_gap_is_test_less_train_except_for_dro(paper: PaperValues) -> None:
    off = {}
    for method in METHODS:
        train, test, gap = (
            number(paper, "table4", "cmnist", method, metric)
            for metric in ("train_acc", "test_acc", "generalisation_gap")
        )
        if abs(gap - (test - train)) > 1.01e-3:  # three rounded numbers
            off[method] = (gap, round(test - train, 3))
    assert off == {"DRO": (-0.223, -0.225)}


@pytest.mark.parametrize("metric", ["train_acc", "test_acc"])
@pytest.mark.parametrize(
    ("method", "setting"),
    [("IRM", "r2=0.80"), ("HRM", "r2=0.80"), ("KerHRM", "r2=0.80,K=2")],
)
def test_table2_repeats_table1(paper: PaperValues, method: str, setting: str, metric: str) -> None:
    assert paper.lookup("table2", setting, method, metric) == number(
        paper, "table1", "r2=0.80", method, metric
    )


@pytest.mark.parametrize("setting", TABLE1)
def test_table1_is_what_the_text_says_of_it(paper: PaperValues, setting: str) -> None:
    test = {m: number(paper, "table1", setting, m, "test_acc") for m in METHODS}
    gap = {m: number(paper, "table1", setting, m, "train_acc") - test[m] for m in METHODS}
    assert best(max, paper, "table1", setting, "train_acc") == "EIIL"
    assert best(max, paper, "table1", setting, "test_acc") == "KerHRM"
    assert best(min, paper, "table1", setting, "test_acc") == "ERM"
    assert test["HRM"] > max(test["ERM"], test["DRO"], test["EIIL"])
    assert min(gap.keys() - {"KerHRM-s"}, key=gap.__getitem__) == "KerHRM"


def test_irm_of_table1_is_better_where_r2_is_small(paper: PaperValues) -> None:
    test = [number(paper, "table1", setting, "IRM", "test_acc") for setting in TABLE1]
    assert test == sorted(test, reverse=True)


def test_table3_is_what_the_text_says_of_it(paper: PaperValues) -> None:
    winners = {s: best(min, paper, "table3", s, "mean_error") for s in TABLE3}
    assert winners.pop("scenario=1,r=1.5") == "HRM"
    assert set(winners.values()) == {"KerHRM"}  # "lowest average error in 5/6 settings"
    assert {best(min, paper, "table3", s, "std_error") for s in TABLE3} == {"HRM"}
    assert {best(max, paper, "table3", s, "mean_error") for s in TABLE3} == {"ERM"}


def test_table4_is_what_the_text_says_of_it(paper: PaperValues) -> None:
    assert best(max, paper, "table4", "cmnist", "train_acc") == "ERM"
    assert best(max, paper, "table4", "cmnist", "test_acc") == "KerHRM"
    assert best(max, paper, "table4", "cmnist", "generalisation_gap") == "KerHRM"
    # The oracle is one less the rate at which labels are flipped, 0.2.
    assert number(paper, "table4", "cmnist", REFERENCE, "test_acc") == 1 - 0.2


@pytest.mark.parametrize("variant", ["KerHRM (literal)", "KerHRM (network)", "KerHRM (released)"])
def test_our_variants_compare_with_the_printed_kerhrm(paper: PaperValues, variant: str) -> None:
    assert paper.lookup("table1", "r2=0.70", variant, "test_acc") == 0.724


def test_variants_never_hide_a_printed_method() -> None:
    assert not PRINTED_AS.keys() & set(get_args(Method))
    assert set(PRINTED_AS.values()) <= set(get_args(Method))


@pytest.mark.parametrize(
    "key",
    [
        ("table4", "cmnist", REFERENCE, "generalisation_gap"),
        ("table2", "r2=0.80,K=3", "IRM", "test_acc"),
        ("table1", "r2=0.80", "KerHRM", "mean_error"),
        ("table1", "r2=0.99", "KerHRM", "test_acc"),
        ("figure4", "house", "KerHRM", "mean_error"),
    ],
)
def test_lookup_of_what_is_not_printed(paper: PaperValues, key: tuple[str, str, str, str]) -> None:
    assert paper.lookup(*key) is None


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("table1: {r2=0.70: {ERM: {test_acc: high}}}", "table1 > r2=0.70 > ERM > test_acc:"),
        ("table1: {r2=0.70: {ERM: {test_acc: '0.4'}}}", "table1 > r2=0.70 > ERM > test_acc:"),
        ("table1: {r2=0.70: {ERM: {test_acc: .nan}}}", "table1 > r2=0.70 > ERM > test_acc:"),
        ("table1: {r2=0.70: {ERM: {test_ac: 0.4}}}", "table1 > r2=0.70 > ERM > test_ac:"),
        ("table1: {r2=0.70: {EMR: {test_acc: 0.4}}}", "table1 > r2=0.70 > EMR:"),
        ("table1: {0.70: {ERM: {test_acc: 0.4}}}", "table1 > 0.7:"),
        ("table1: {r2=0.70: {ERM: 0.4}}", "table1 > r2=0.70 > ERM:"),
        ("tabel1: {r2=0.70: {ERM: {test_acc: 0.4}}}", "tabel1:"),
        ("", "top level:"),
    ],
)
def test_malformed_entries_are_named(tmp_path: Path, text: str, keys: str) -> None:
    path = tmp_path / "values.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(KerhrmError, match=re.escape(f"values.yaml, {keys}")):
        load(path)


def test_broken_and_missing_files(tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    with pytest.raises(KerhrmError, match="cannot read"):
        load(path)
    path.write_text("table1: {", encoding="utf-8")
    with pytest.raises(KerhrmError, match="is not YAML") as caught:
        load(path)
    assert "\n" not in str(caught.value)


def test_runs_are_those_of_the_captions(paper: PaperValues) -> None:
    assert [paper.runs(f"table{i}") for i in (1, 2, 3, 4)] == [10, 10, 10, 5]


def test_caveats_are_of_numbers_that_are_printed(paper: PaperValues) -> None:
    with_caveat = {
        (table, method, metric)
        for table, _, method, metric in paper.cells
        for method in [ours for ours, name in PRINTED_AS.items() if name == method] or [method]
        if paper.caveat(table, method, metric)
    }
    released = "KerHRM (released)"
    assert with_caveat == {
        ("table3", released, "std_error"),
        *(("table4", released, m) for m in ("train_acc", "test_acc", "generalisation_gap")),
        *(("table4", REFERENCE, m) for m in ("train_acc", "test_acc")),
    }
