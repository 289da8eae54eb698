"""Which of the jobs that are ready goes first."""

import re
from pathlib import Path

import pytest
from dagtools import SMOKE, Checkout

from kerhrm.config.names import folder_of
from kerhrm.costs.benchmarks import Key, measured

pytestmark = pytest.mark.dag

BEGUN = re.compile(
    r"^Job \d+: (Data of|Neural tangent features of|Singular value decomposition for) "
    r"(\S+), (\S+)$",
    re.MULTILINE,
)
RULES = {
    "Data of": "generate_data",
    "Neural tangent features of": "extract_ntf",
    "Singular value decomposition for": "reduce_ntf",
}


@pytest.fixture(scope="module")
def again(smoke: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return smoke.copy(tmp_path_factory.mktemp("again") / "kerhrm")


def begun(checkout: Checkout, rule: str, since: str) -> list[Key]:
    """Jobs in the order in which one core begins them, from ``since`` on up to ``rule``."""
    told = checkout.run("all", "--until", rule, "--forcerun", since, *SMOKE, cores=1)
    return [(RULES[what], e, folder_of(s)) for what, e, s in BEGUN.findall(told)]


def test_the_longest_job_goes_first(again: Checkout) -> None:
    """By what each took in the run before, where nothing waits for any of them."""
    before = measured(again.folder / "results/smoke")
    order = begun(again, "generate_data", "generate_data")
    seconds = [before[key].s for key in order]
    assert len(set(seconds)) > 3
    assert seconds == sorted(seconds, reverse=True)


def test_temporary_files_go_at_once(again: Checkout) -> None:
    """No features are extracted before those that lie there have been reduced."""
    order = begun(again, "reduce_ntf", "extract_ntf")
    extracted = [place for rule, *place in order if rule == "extract_ntf"]
    reduced = [place for rule, *place in order if rule == "reduce_ntf"]
    assert len(extracted) > 3
    assert extracted == reduced
    assert [rule for rule, *_ in order] == ["extract_ntf", "reduce_ntf"] * len(extracted)
    assert not list(Path(again.folder, "results/smoke").rglob("ntf/*.npz"))
