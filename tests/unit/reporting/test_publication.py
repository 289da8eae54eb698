"""A finished run at the paper's sizes, and no other, goes into the repository."""

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kerhrm.config.files import read
from kerhrm.config.fresh import FROZEN
from kerhrm.config.resolve import resolve
from kerhrm.config.schema import Config
from kerhrm.errors import KerhrmError
from kerhrm.reporting import freeze, publication
from kerhrm.reporting.freeze import Frozen, digest
from kerhrm.reporting.provenance import DISTRIBUTION, MADE_WITH
from kerhrm.reporting.publication import publish, publish_apart, publish_tuned
from kerhrm.reporting.readme import PAGES, sections, with_sections
from kerhrm.reporting.results_page import pages
from kerhrm.reporting.tables import COLUMNS
from kerhrm.reporting.verify import committed
from kerhrm.storage.arrays import write_text

#: pages with nothing between their marks
BLANK = {
    page: "# Name\n" + "".join(f"<!-- begin {s} -->\n<!-- end {s} -->\n" for s in sections)
    for page, sections in PAGES.items()
}
ROOT = Path(__file__).parents[3]
CONFIG = resolve({"preset": "smoke"}, ROOT / "config").plain()
EXPERIMENTS = {"one": CONFIG["experiments"]["classification"]}
APART = {"two": EXPERIMENTS["one"] | {"in_all": False, "table": "apart"}}
CELL = (
    "table1,r2=0.70,ERM,test_acc,0.25,0.01,3,0.24,0.26,0.2,synthetic,pooled validation,described,"
    "differs: higher,,good,0.9,0.01,5.5"
)
MADE = json.dumps({
    "rule": "summarise", "keep": True, "inputs": ["results/paper/scores/one.csv"],
    "outputs": ["results/paper/tables/table1.csv"], "log": ["results/paper/logs/summarise/one.log"],
})  # fmt: skip


def configuration(experiments: dict[str, Any], preset: str = "paper") -> str:
    tree = CONFIG | {"preset": preset, "experiments": experiments}
    return yaml.safe_dump(tree, sort_keys=False)


def same(text: str, other: str) -> bool:
    """Whether two files say the same, in whatever words: order of keys and types, too."""
    said, told = (json.dumps(yaml.safe_load(one)) for one in (text, other))
    return said == told


def run(folder: Path, preset: str = "paper") -> Path:
    """What a build leaves, and things that nobody needs."""
    results = folder / "results" / preset
    for name, text in (
        ("tables/table1.md", "## Table 1: Classification\n\n| a |\n"),
        ("tables/table1.csv", f"{','.join(COLUMNS)}\n{CELL}\n"),
        ("tables/.table1.csv.lock", ""),
        ("figures/table1.svg", "<svg/>"),
        ("figures/table1-variants.svg", "<svg>variants</svg>"),
        ("tables/apart.md", "## Another\n"),
        ("tables/apart.csv", f"{','.join(COLUMNS)}\n{CELL.replace('table1', 'apart')}\n"),
        ("figures/apart.svg", "<svg/>"),
        ("scores/one.csv", "setting,value\n"),
        ("scores/two.csv", "setting,value\n"),
        ("choices/one.csv", "setting,k\n"),
        ("choices/two.csv", "setting,k\n"),
        ("restarts/one.csv", "setting,n\n"),
        ("restarts/two.csv", "setting,n\n"),
        ("notebooks/table1.ipynb", "{}"),
        ("notebooks/apart.ipynb", "{}"),
        ("made/0.json", MADE),
        ("config.yaml", configuration(EXPERIMENTS | APART, preset)),
        ("benchmarks/score/one/r2=0.70.tsv", "s\th:m:s\n2.5\t0:00:02\n"),
        ("benchmarks/score/two/r2=0.80.tsv", "s\th:m:s\n3.5\t0:00:03\n"),
        ("one/r2=0.70/scores.csv", "setting\n"),
        ("tuned/one.yaml", "irm: {}\n"),
        ("logs/score.log", "done\n"),
    ):
        path = results / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return results


def content(folder: Path) -> dict[str, str]:
    return {
        p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8")
        for p in folder.rglob("*")
        if p.is_file()
    }


@pytest.fixture(autouse=True)
def speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's, which is never twice the same."""
    monkeypatch.setattr(publication, "gemm_rate", lambda: 98.76)


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    for page, text in BLANK.items():
        write_text(tmp_path / page, text)
    return tmp_path / "results" / "reference"


def in_pages(folder: Path) -> dict[Path, str]:
    return {page: (folder / page).read_text(encoding="utf-8") for page in PAGES}


def test_tables_figures_and_configuration_are_copied(tmp_path: Path, reference: Path) -> None:
    results = run(tmp_path)
    publish(results, tmp_path, reference=reference)
    copied = content(reference)
    versions = json.loads(copied.pop("versions.json"))
    assert DISTRIBUTION in versions["packages"]
    assert versions["gemm_gflops"] == 98.8
    assert set(versions[MADE_WITH]) == {"commit", "code", "locks"}
    jobs = json.loads(copied.pop("jobs.json"))
    assert [job["rule"] for job in jobs["jobs"]] == ["summarise"]
    table = (results / "tables" / "table1.csv").read_bytes()
    assert jobs["files"]["tables/table1.csv"]["sha256"] == hashlib.sha256(table).hexdigest()
    points = EXPERIMENTS["one"]["settings"]["r2=0.70"]["data"]["n_train_per_environment"] * 2
    assert copied.pop("benchmarks.tsv").splitlines() == [
        "rule\texperiment\tplace\ts\tmemory_mb\tdisk_mb\tsize",
        f"score\tone\tone/r2=0.70\t2.5\t\t\t{2 * points}",  # of two seeds
    ]
    assert same(copied.pop("config.yaml"), configuration(EXPERIMENTS))
    shown = {"tables/table1.md", "tables/table1.csv"}
    shown |= {"figures/table1.svg", "figures/table1-variants.svg"}
    shown |= {"scores/one.csv", "choices/one.csv", "restarts/one.csv", "notebooks/table1.ipynb"}
    assert copied == {n: text for n, text in content(results).items() if n in shown}
    parts = sections(results, EXPERIMENTS, "../results/reference/tables")
    page, findings = pages(reference, tmp_path)
    assert set(parts | findings) == {name for names in PAGES.values() for name in names}
    assert in_pages(tmp_path) == {
        path: with_sections(text, {name: (parts | findings)[name] for name in PAGES[path]})
        for path, text in BLANK.items()
    }
    assert (tmp_path / "docs" / "results.md").read_text(encoding="utf-8") == page
    assert "KerHRM (literal)**: not in this run." in page


def test_what_an_earlier_run_left_is_gone(tmp_path: Path, reference: Path) -> None:
    results = run(tmp_path)
    publish(results, tmp_path, reference=reference)
    first, text = content(reference), in_pages(tmp_path)
    (reference / "tables" / "table9.md").write_text("old")
    (reference / "scores" / "nine.csv").write_text("old")
    (reference / "README.md").write_text("about the reference")
    (reference / "config.yaml").write_text("old")
    publish(results, tmp_path, reference=reference)
    assert content(reference) == first | {"README.md": "about the reference"}
    assert in_pages(tmp_path) == text


def test_a_table_that_is_not_in_all_has_a_folder_of_its_own(
    tmp_path: Path, reference: Path
) -> None:
    results = run(tmp_path)
    publish(results, tmp_path, reference=reference)
    before = content(reference)
    publish_apart(results, reference / "apart", "apart")
    found = content(reference)
    assert {n: text for n, text in found.items() if not n.startswith("apart/")} == before
    assert same(found["apart/config.yaml"], configuration(APART))
    assert found["apart/apart.md"] == "## Another\n"
    _, cost = found["apart/benchmarks.tsv"].splitlines()
    assert cost.startswith("score\ttwo\ttwo/r2=0.80\t3.5")
    names = (
        "apart.csv", "apart.ipynb", "apart.md", "apart.svg", "benchmarks.tsv", "choices/two.csv",
        "config.yaml", "jobs.json", "restarts/two.csv", "scores/two.csv", "versions.json",
    )  # fmt: skip
    assert sorted(n for n in found if n.startswith("apart/")) == [f"apart/{n}" for n in names]
    publish(results, tmp_path, reference=reference)  # which leaves it alone
    assert content(reference) == found
    table = results / "tables" / "apart.csv"
    table.write_text(table.read_text().replace("synthetic", "stand-in:digits"))
    with pytest.raises(KerhrmError, match=r"apart\.csv holds stand-in data"):
        publish_apart(results, reference / "apart", "apart")
    assert content(reference) == found


def test_a_configuration_of_an_earlier_run_is_not_published(
    tmp_path: Path, reference: Path
) -> None:
    """Snakemake leaves it where it is told to look at files' times alone."""
    results, folder = run(tmp_path), reference / "apart"
    today = yaml.safe_load(configuration(EXPERIMENTS | APART))["experiments"]
    publish_apart(results, folder, "apart", today=today)
    before = content(reference)
    other = json.loads(json.dumps(today))
    other["two"]["settings"]["r2=0.70"]["data"]["r2"] = 0.75
    for stale in (other, today | {"three": APART["two"]}, EXPERIMENTS):
        with pytest.raises(KerhrmError, match=r"config\.yaml is not what is configured now"):
            publish_apart(results, folder, "apart", today=stale)
    assert content(reference) == before
    publish_apart(results, folder, "apart", today=today | {"one": {"table": "table1"}})


def test_choices_are_copied_beside_those_of_other_experiments(tmp_path: Path) -> None:
    tuned = tmp_path / "config" / "tuned"
    tuned.mkdir(parents=True)
    (tuned / "two.yaml").write_text("stays")
    publish_tuned(run(tmp_path), tuned)
    assert content(tuned) == {"one.yaml": "irm: {}\n", "two.yaml": "stays"}


@pytest.mark.parametrize(
    ("preset", "cure"),
    [("smoke", "run without"), ("papers", "run without"), ("fresh", "run `kerhrm freeze`")],
)
def test_only_the_papers_sizes_are_published(
    tmp_path: Path, reference: Path, preset: str, cure: str
) -> None:
    results = run(tmp_path, preset)
    with pytest.raises(KerhrmError, match=f"no run at preset paper; {cure}"):
        publish(results, tmp_path, reference=reference)
    with pytest.raises(KerhrmError, match=f"no run at preset paper; {cure}"):
        publish_tuned(results, tmp_path / "tuned")
    assert not reference.exists()
    assert not (tmp_path / "tuned").exists()
    assert in_pages(tmp_path) == BLANK


def test_equal_sections_of_a_configuration_are_written_once(tmp_path: Path) -> None:
    section = {"steps": [1, 2], "rate": 1.0, "more": {}}
    settings = {f"r={i}": {"erm": json.loads(json.dumps(section))} for i in range(50)}
    tree = {"one": settings, "other": {"erm": section | {"rate": 1}}}
    text = publication.as_yaml(tree)
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    assert json.dumps(read(tmp_path / "config.yaml").content) == json.dumps(tree)
    assert text.count("steps") == 2  # 1.0 is not 1
    assert publication.as_yaml({"a": {}, "b": {}}) == "a: {}\nb: {}\n"


@pytest.mark.parametrize("name", ["config.yaml", "tables", "figures"])
def test_an_incomplete_run_is_told(tmp_path: Path, reference: Path, name: str) -> None:
    results = run(tmp_path)
    (results / name).rename(tmp_path / "away")
    with pytest.raises(KerhrmError, match=f"has no {name}; run the workflow first"):
        publish(results, tmp_path, reference=reference)


@pytest.mark.parametrize("kind", ["scores", "choices", "restarts"])
def test_what_is_gone_behind_a_table_is_told(tmp_path: Path, reference: Path, kind: str) -> None:
    """Committed files of earlier runs stay."""
    results = run(tmp_path)
    publish(results, tmp_path, reference=reference)
    publish_apart(results, reference / "apart", "apart")
    before = content(reference)
    for name in ("one", "two"):
        (results / kind / f"{name}.csv").unlink()
    told = rf"{kind}/one\.csv is not there; run `snakemake results/paper/{kind}/one\.csv`"
    with pytest.raises(KerhrmError, match=told.replace("results/paper", r"\S*results/paper")):
        publish(results, tmp_path, reference=reference)
    with pytest.raises(KerhrmError, match=rf"{kind}/two\.csv is not there"):
        publish_apart(results, reference / "apart", "apart")
    assert content(reference) == before


def test_stand_ins_are_not_published(tmp_path: Path, reference: Path) -> None:
    results = run(tmp_path)
    publish(results, tmp_path, reference=reference)
    before = content(tmp_path)
    path = results / "tables" / "table1.csv"
    real = path.read_text(encoding="utf-8")
    stand_in = CELL.replace("synthetic", "stand-in:digits")
    path.write_text(f"{','.join(COLUMNS)}\n{stand_in}\n", encoding="utf-8")
    with pytest.raises(KerhrmError, match=r"table1\.csv holds stand-in data; give the raw files"):
        publish(results, tmp_path, reference=reference)
    path.write_text(real, encoding="utf-8")
    assert content(tmp_path) == before


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_page_without_marks_leaves_everything_alone(
    tmp_path: Path, reference: Path, page: Path
) -> None:
    (tmp_path / page).write_text("# Name\n", encoding="utf-8")
    with pytest.raises(KerhrmError, match=f"{page} has no section '{PAGES[page][0]}'"):
        publish(run(tmp_path), tmp_path, reference=reference)
    assert not reference.exists()
    assert in_pages(tmp_path) == BLANK | {page: "# Name\n"}


@pytest.fixture
def frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Frozen:
    """What the checkout at ``tmp_path`` has frozen: the configuration of :func:`run`."""
    now = {"code": "c", "python": "3", "versions": "v"} | {
        name: digest(EXPERIMENTS, seeds=seeds)
        for name, seeds in (("configuration", False), ("fresh", True))
    }
    monkeypatch.setattr(freeze, "_now", lambda checkout: now)
    found = Frozen(**now, commit=None, further={})
    (tmp_path / FROZEN).parent.mkdir()
    (tmp_path / FROZEN).write_text(yaml.safe_dump(asdict(found)), encoding="utf-8")
    return found


@pytest.mark.usefixtures("frozen")
def test_after_the_freeze_fresh_seeds_are_published_and_the_others_stand_by(
    tmp_path: Path, reference: Path
) -> None:
    fresh, usual = run(tmp_path, "fresh"), run(tmp_path)
    publish(usual, tmp_path, reference=reference)
    assert in_pages(tmp_path) == BLANK
    names = ["config.yaml", "tables/table1.csv", "tables/table1.md", "versions.json"]
    appendix = content(reference)
    assert sorted(appendix) == [f"development/{name}" for name in names]
    assert committed(reference, "paper") == reference / "development" / "tables"
    publish(fresh, tmp_path, reference=reference)
    assert in_pages(tmp_path) != BLANK
    found = content(reference)
    assert same(found["config.yaml"], configuration(EXPERIMENTS, "fresh"))
    assert {n: text for n, text in found.items() if n.startswith("development/")} == appendix
    assert committed(reference, "fresh") == reference / "tables"
    assert committed(reference, "paper") == reference / "development" / "tables"
    with pytest.raises(KerhrmError, match="no run at preset paper or fresh; run without preset"):
        publish(run(tmp_path, "smoke"), tmp_path, reference=reference)
    assert content(reference) == found


@pytest.mark.parametrize("preset", ["paper", "fresh"])
def test_what_was_not_frozen_is_not_published(
    tmp_path: Path, reference: Path, frozen: Frozen, preset: str
) -> None:
    results = run(tmp_path, preset)
    for change, told in (
        ({"code": "another"}, "the code is not the frozen one; freeze anew"),
        ({"configuration": "another", "fresh": "another"}, "configuration is not the frozen one"),
    ):
        text = yaml.safe_dump(asdict(replace(frozen, **change)))
        (tmp_path / FROZEN).write_text(text, encoding="utf-8")
        with pytest.raises(KerhrmError, match=told):
            publish(results, tmp_path, reference=reference)
    assert not reference.exists()
    assert in_pages(tmp_path) == BLANK


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("results/reference/*/config.yaml")), ids=lambda path: path.parent.name
)
def test_what_is_committed_is_of_todays_configuration(path: Path) -> None:
    """A table may be of options that have changed since: publish it anew."""
    content = read(path).content
    experiments = content["experiments"]
    if experiments:  # claims are checked on other tables' runs
        experiments = Config.model_validate(content).plain()["experiments"]
    today = resolve({"preset": content["preset"]}, ROOT / "config").plain()["experiments"]
    assert experiments == {name: today[name] for name in experiments}
