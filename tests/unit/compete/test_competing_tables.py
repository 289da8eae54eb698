"""The configuration that a contest writes, and the published scores that it takes."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from method_text import TEMPLATE, Write
from refusals import refusal

from kerhrm_paper.compete import published
from kerhrm_paper.compete.configuration import Shipped
from kerhrm_paper.compete.method_file import MethodFile, load_method
from kerhrm_paper.compete.published import published_scores
from kerhrm_paper.config.config import load_config
from kerhrm_paper.config.mark import mark
from kerhrm_paper.evaluation.completed import completed
from kerhrm_paper.evaluation.score_rows import COLUMNS
from kerhrm_paper.reporting.run import read_scores

NAME = "my_method"


@pytest.fixture(scope="module")
def smoke() -> Shipped:
    return Shipped("smoke")


def layer_of_tables(smoke: Shipped, method: MethodFile, **more: Any) -> dict[str, Any]:
    names = ["table1", "table2", "table3"]
    nothing = {"selected": {}, "published": {}}
    arguments = nothing | more
    return smoke.tables(method, names, 2.0, **arguments)


def test_a_method_enters_what_it_can(smoke: Shipped, write: Write) -> None:
    text = TEMPLATE.replace(
        "train_my_method)\n", "train_my_method, tasks=('classification',))\n"
    )
    path = write(text)
    method = load_method(path, [], [])
    entered = set(smoke.tables_of(method, []))
    assert {"table1", "table2", "table4", "peers"} <= entered
    assert not {"table3", "figure2", "figure3", "mechanism"} & entered
    named = ["table4", "table1"]
    assert smoke.tables_of(method, named) == named
    for name, words in (
        ("table3", "is a regression, which my_method does not learn"),
        ("figure2", "is of iterations"),
        ("auxiliary_houses", "is a regression"),
        ("tabel1", "did you mean 'table1'?"),
    ):
        pattern = words.replace("?", r"\?")
        with refusal(pattern):
            smoke.tables_of(method, [name])


def test_methods_of_a_table_by_preset(smoke: Shipped) -> None:
    here = smoke.methods("table4")
    assert {"KerHRM"} <= {*here}
    missing = {*Shipped("paper").methods("table4")} - {*here}
    assert {"ERM", "IRM"} <= missing
    assert "ERM" in smoke.methods("table1")


def test_fresh_leaves_no_method_out() -> None:
    """The page of another preset names it."""
    paper = Shipped("paper")
    fresh = Shipped("fresh")
    for name in paper.whole.tables:
        assert fresh.methods(name) == paper.methods(name)


def test_the_search_has_its_candidates_alone(
    smoke: Shipped, method: MethodFile
) -> None:
    names = ["table1", "table3"]
    layer = smoke.search(method, names, 2.0)
    learner = layer["learners"][NAME]
    assert learner["candidates"] == method.candidates
    assert learner["timeout"] == 2.0
    assert learner["method"] == NAME
    made = {}
    for name, table in layer["tables"].items():
        if table is not None:
            made[name] = table
    assert set(made) == {"search-classification", "search-regression"}
    for table in made.values():
        assert table["learners"] == [NAME]
    assert made["search-classification"]["data"] == ["classification+r2=0.7"]
    assert layer["data"]["houses"] == {"tuning": None}
    assert layer["search"] is True
    tuning = Shipped("tuning")
    search_of_tuning = tuning.search(method, ["table1"], 2.0)
    assert "search" not in search_of_tuning


def test_a_single_candidate_is_no_search(smoke: Shipped, write: Write) -> None:
    start = TEMPLATE.index("CANDIDATES = [")
    text = TEMPLATE[:start] + "CANDIDATES = [{'share': 0.3}]\n"
    path = write(text)
    method = load_method(path, [], [])
    learner = layer_of_tables(smoke, method)["learners"][NAME]
    assert learner["options"] == {"share": 0.3}
    assert "candidates" not in learner


def test_tables_have_the_method_behind_their_learners(
    smoke: Shipped, method: MethodFile
) -> None:
    chosen = {"pooled": {"share": 0.1}}
    selected = {"classification": chosen}
    layer = layer_of_tables(smoke, method, selected=selected)
    tables = layer["tables"]
    assert tables["table3"]["learners"] == ["eiil", "kerhrm", NAME]
    assert tables["table1"]["learners"][-1] == NAME
    few = tables["table1"]["data"]["classification+r2=0.7+scramble=identity"]
    assert few == {"learners": ["erm", NAME]}
    for data in tables["table2"]["data"].values():
        assert data["learners"][-1] == NAME
    assert tables["table4"] is None
    selected_for_classification = layer["selected"]["classification"]
    assert selected_for_classification == {NAME: chosen}
    yaml.safe_dump(layer)


def test_where_scores_are_published_the_method_is_alone(
    smoke: Shipped, method: MethodFile
) -> None:
    scores_of_table3 = {"table3": Path("a.csv.gz")}
    layer = layer_of_tables(smoke, method, published=scores_of_table3)
    tables = layer["tables"]
    assert tables["table3"]["learners"] == [NAME]
    assert tables["table1"]["learners"][0] == "erm"
    assert layer["published"] == {"table3": "a.csv.gz"}


def test_a_contest_marks_no_table(smoke: Shipped, method: MethodFile) -> None:
    """What it changes is which learners tables show, and what was selected for its
    own."""
    no_changes: dict[str, Any] = {name: {} for name in smoke.whole.tables}
    shipped = {
        "learners": {"erm": {}},
        "tables": no_changes,
    }
    selected = {"classification": {"pooled": {"share": 0.1}}}
    scores_of_table3 = {"table3": Path("a.csv.gz")}
    layer = layer_of_tables(
        smoke,
        method,
        selected=selected,
        published=scores_of_table3,
    )
    assert mark("paper", layer, shipped) == ""
    layer["tables"]["table1"]["seeds"] = 2
    assert "tables.table1.seeds" in mark("paper", layer, shipped)
    selected_for_classification = layer["selected"]["classification"]
    selected_for_classification["erm"] = {"pooled": {"steps": 3}}
    assert "selected.classification.erm" in mark("paper", layer, shipped)


@pytest.mark.parametrize("named", ["table1", "table3"])
def test_a_table_by_itself_plans_the_jobs_that_all_tables_do(
    smoke: Shipped, method: MethodFile, named: str
) -> None:
    """Of the method, too; where it is not tuned it is not in the other tables."""
    every = smoke.tables_of(method, [])
    data = ("classification", "regression", "colored_mnist", "houses")
    all_selected = {name: {"pooled": {"steps": 7}} for name in data}
    source = {"table1": "classification", "table3": "regression"}[named]

    def jobs(tables: list[str], others: list[str], tuned: Any) -> set[Any]:
        nothing: dict[str, Any] = {"published": {}}
        layer = smoke.tables(
            method, tables, 2.0, selected=tuned, others=others, **nothing
        )
        layer["learners"][NAME] = {"method": "erm", "titles": {"model": "Mine"}}
        config = load_config({"preset": "smoke", **layer})
        jobs = {(group.data, group.learners) for group in config.groups}
        cells = {*config.tables[named].cells}
        return {job for job in jobs if cells & {(job[0], name) for name in job[1]}}

    others = [name for name in every if name != named]
    tuned = {source: all_selected[source]}
    expected = jobs(every, [], all_selected)
    assert expected
    assert jobs([named], others, tuned) == expected


# --- published scores -----------------------------------------------------------------


def scores(**columns: Any) -> pd.DataFrame:
    """Rows of scores; a column is a list or a value of all."""
    row: dict[str, Any] = dict.fromkeys(COLUMNS, "")
    row["data"] = "d"
    row["setting"] = "s"
    row["metric"] = "test_acc"
    row["selection"] = "none"
    return pd.DataFrame(row | columns)[COLUMNS]


def test_published_rows_and_then_those_of_the_method() -> None:
    theirs = scores(
        learner=["erm", ""],
        method=["ERM", "ref"],
        seed=5,
        value=[0.7, 0.5],
    )
    ours = scores(
        learner=["mine", ""],
        method=["M", "ref"],
        seed=5,
        value=[0.8, 0.5],
    )
    both = completed(ours, theirs)
    assert both["method"].tolist() == ["ERM", "M", "ref"]
    assert both["value"].tolist() == [0.7, 0.8, 0.5]
    other = ours.assign(value=[0.8, 0.51])
    with refusal("of other data"):
        completed(other, theirs)


def test_published_scores_of_another_table_complete_nothing() -> None:
    """Neither where no row is in both, nor where the learner would count twice."""
    ours = scores(learner=["erm", ""], method=["ERM", "ref"], seed=5, value=0.5)
    elsewhere = ours.assign(data="e")
    with refusal("of other data"):
        completed(ours, elsewhere)
    with refusal("have ERM on d, too; leave erm out"):
        completed(ours, ours)
    with refusal("no scores of a table"):
        completed(ours, ours.drop(columns="selection"))


def test_published_scores_of_other_seeds_complete_nothing() -> None:
    """Where no seed is shared, nothing shows that the data are the same."""
    theirs = scores(
        learner=["erm", "", "erm", ""],
        method=["ERM", "ref", "ERM", "ref"],
        seed=[5, 5, 6, 6],
        value=[0.7, 0.5, 0.8, 0.4],
    )
    ours = scores(
        learner=["mine", ""], method=["M", "ref"], seed=[6, 6], value=[0.8, 0.4]
    )
    assert len(completed(ours, theirs)) == 5
    others = ours.assign(seed=7)
    with refusal(r"the published scores on d have no seed 7; take the preset and the"):
        completed(others, theirs)
    both = pd.concat([ours, others])
    with refusal("have no seed 7"):
        completed(both, theirs)


@pytest.mark.parametrize("published_seed", [5, 6])
def test_a_seed_without_a_row_of_a_reference_completes_nothing(
    published_seed: int,
) -> None:
    """Of any data set: the same name may stand for other data."""
    theirs = scores(
        data=["d", "d", "e", "e"],
        learner=["erm", "", "erm", ""],
        method=["ERM", "ref", "ERM", "ref"],
        seed=[5, 5, 5, published_seed],
        value=0.5,
    )
    ours = scores(
        data=["d", "d", "e", "e"],
        learner=["mine", "", "mine", ""],
        method=["M", "ref", "M", "ref"],
        seed=5,
        value=0.5,
    )
    if published_seed == 5:
        assert len(completed(ours, theirs)) == 6
        return
    words = "nothing shows that the published scores of seed 5 on e are of the same"
    with refusal(words):
        completed(ours, theirs)
    no_references = ours[ours["learner"] != ""]
    with refusal("nothing shows that the published scores of seed 5 on d"):
        completed(no_references, theirs)


def test_scores_are_those_of_the_file_that_is_named(tmp_path: Path) -> None:
    """Also if it is called otherwise, or lies in another folder."""
    theirs = scores(learner="erm", method="ERM", seed=5, value=[0.7])
    other = tmp_path / "scores" / "mine.csv.gz"
    other.parent.mkdir()
    theirs.assign(method="NA").to_csv(other, index=False)
    file = tmp_path / "elsewhere" / "mine.csv.gz"
    file.parent.mkdir()
    theirs.to_csv(file, index=False)
    assert read_scores(file)["method"].tolist() == ["ERM"]
    assert read_scores(other)["method"].tolist() == ["NA"]


def test_published_scores_count_if_preset_and_seeds_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.yaml").write_text("preset: fresh\n")
    (tmp_path / "scores").mkdir()
    seeds_of_tables = {"table1": [7, 8, 9], "table3": [7, 9]}
    for name, seeds in seeds_of_tables.items():
        frame = scores(method="ERM", seed=seeds, value=0.5)
        frame.to_csv(tmp_path / "scores" / f"{name}.csv.gz", index=False)

    def wanted(_preset: str, tables: list[str]) -> list[tuple[str, str, list[int]]]:
        seeds = [7, 8]
        return [(name, "d", seeds) for name in tables]

    monkeypatch.setattr(published, "seeds", wanted)
    names = ["table1", "table3", "table4"]
    files, reasons = published_scores("fresh", names, tmp_path)
    assert files == {"table1": tmp_path / "scores" / "table1.csv.gz"}
    assert "other seeds on d" in reasons["table3"]
    assert "not published" in reasons["table4"]
    files, reasons = published_scores("paper", names, tmp_path)
    assert files == {}
    assert "preset fresh" in reasons["table1"]
