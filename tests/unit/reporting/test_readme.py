"""The measured sections of the README."""

from itertools import product
from pathlib import Path

import pandas as pd
import pytest

from kerhrm.errors import KerhrmError
from kerhrm.reporting.layout import to_markdown
from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.readme import (
    compute_times,
    first_metric,
    is_stand_in_text,
    replace_section,
    restart_counts,
    sections,
    selection_cost,
    update,
    verdict_counts,
)
from kerhrm.reporting.tables import build_table, title

README = """# Name
<!-- begin tables -->
old numbers
<!-- end tables -->
between
<!-- begin times -->
<!-- end times -->
the end
"""
PARTS = {"tables": "### Table 1\n\n| a | b |\n", "times": "seconds\n"}


def rows(markdown: str) -> list[list[str]]:
    """Cells of a Markdown table, header first."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return [cells[0], *cells[2:]]


def test_a_section_is_replaced_between_its_marks() -> None:
    once = replace_section(README, "tables", "new\nnumbers\n\n")
    assert once == README.replace("old numbers\n", "new\nnumbers\n")
    assert replace_section(once, "tables", "old numbers") == README
    filled = replace_section(README, "times", "fast")
    assert filled == README.replace("begin times -->\n", "begin times -->\nfast\n")


@pytest.mark.parametrize(
    "text", ["", README.replace("end tables", "ned tables"), README.replace("begin tables", "")]
)
def test_a_missing_mark_is_told(text: str) -> None:
    with pytest.raises(KerhrmError, match=r"no section 'tables'; put <!-- begin tables -->"):
        replace_section(text, "tables", "new")


def test_an_update_writes_the_readme_and_a_copy(tmp_path: Path) -> None:
    readme, output = tmp_path / "README.md", tmp_path / "results" / "readme.md"
    readme.write_text(README, encoding="utf-8")
    update(PARTS, output, readme)
    text = readme.read_text(encoding="utf-8")
    assert "### Table 1\n\n| a | b |\n<!-- end tables -->" in text
    assert "seconds\n<!-- end times -->" in text
    assert "old numbers" not in text
    assert text.startswith("# Name\n")
    assert text.endswith("the end\n")
    assert output.read_text(encoding="utf-8") == "### Table 1\n\n| a | b |\n\nseconds\n"
    update(PARTS, output, readme)
    assert readme.read_text(encoding="utf-8") == text


def test_a_stand_ins_numbers_stay_out_of_the_readme(tmp_path: Path) -> None:
    readme, output = tmp_path / "README.md", tmp_path / "readme.md"
    readme.write_text(README, encoding="utf-8")
    heading = title("Table 4", "paper", ["stand-in:digits", "mnist"])
    update(PARTS | {"tables": f"### {heading}\n"}, output, readme)
    assert readme.read_text(encoding="utf-8") == README
    assert heading in output.read_text(encoding="utf-8")


def test_a_missing_mark_leaves_both_files_alone(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(README, encoding="utf-8")
    with pytest.raises(KerhrmError, match="no section 'restarts'"):
        update(PARTS | {"restarts": "x"}, tmp_path / "readme.md", readme)
    assert readme.read_text(encoding="utf-8") == README
    assert not (tmp_path / "readme.md").exists()


@pytest.mark.parametrize("preset", ["paper", "smoke"])
@pytest.mark.parametrize(
    ("sources", "expected"),
    [(["synthetic"], False), (["mnist", "stand-in:digits"], True), (["stand-in:digits"], True)],
)
def test_a_stand_in_is_known_by_the_title(preset: str, sources: list[str], expected: bool) -> None:
    heading = title("Table [4]", preset, sources)
    assert is_stand_in_text(f"### Table 1\n\n### {heading}\n\n| a |\n") is expected


COLUMNS = ["setting", "method", "seed", "metric", "value", "selection", "data_source", "reason"]
POOLED, OWN, ORACLE = "pooled validation", "worst learned environment", "oracle"


def cells(settings: tuple[str, ...] = ("r2=0.70", "r2=0.80")) -> pd.DataFrame:
    """A table in which every mean tells where it comes from."""
    methods = {"ERM": 0.1, "KerHRM-s": 0.2, "KerHRM (NTF)": 0.3, "KerHRM (network)": 0.4}
    rules = {OWN: 0.01, POOLED: 0.02, ORACLE: 0.03}
    metrics = {"train_acc": 0.004, "test_acc": 0.005}
    records = []
    for (a, s), (m, b), (rule, c), (metric, d) in product(
        enumerate(settings), methods.items(), rules.items(), metrics.items()
    ):
        own = POOLED if m == "ERM" else OWN
        if m in ("ERM", "KerHRM-s") and rule != own:
            continue
        value = 0.5 * a + b + c + d
        records += [(s, m, seed, metric, value, rule, "synthetic", "") for seed in (0, 1)]
    scores = pd.DataFrame(records, columns=COLUMNS)
    paper = PaperValues({("table1", "r2=0.70", "ERM", "test_acc"): 0.125})
    return build_table(scores, "table1", "paper", paper, resamples=20)


def test_what_the_rule_costs() -> None:
    header, *body = rows(selection_cost(cells()))
    assert header == ["setting", "method", "result", POOLED, OWN, ORACLE]
    assert body == [
        ["r2=0.70", "KerHRM (NTF)", "test accuracy", "0.325", "**0.315**", "0.335"],
        ["r2=0.70", "KerHRM (network)", "test accuracy", "0.425", "**0.415**", "0.435"],
        ["r2=0.80", "KerHRM (NTF)", "test accuracy", "0.825", "**0.815**", "0.835"],
        ["r2=0.80", "KerHRM (network)", "test accuracy", "0.925", "**0.915**", "0.935"],
    ]


def test_costs_are_averaged_over_the_papers_settings() -> None:
    settings = ("r2=0.70", "r2=0.80", "r2=0.70,k=extended", "r2=0.70,colour=random")
    header, *body = rows(selection_cost(cells(settings), ["table", "method"]))
    assert header == ["table", "method", "result", POOLED, OWN, ORACLE]
    assert body == [
        ["table1", "KerHRM (NTF)", "test accuracy", "0.575", "**0.565**", "0.585"],
        ["table1", "KerHRM (network)", "test accuracy", "0.675", "**0.665**", "0.685"],
    ]


def test_a_method_with_rules_of_its_own_leaves_gaps_and_a_failed_one_no_mean() -> None:
    table = cells()
    ntf = table["method"] == "KerHRM (NTF)"
    table.loc[ntf, "method"] = "IRM"
    table.loc[ntf & (table["selection"] == OWN), "selection"] = "worst validation environment"
    table.loc[ntf & (table["selection"] == ORACLE) & (table["setting"] == "r2=0.80"), "mean"] = (
        float("nan")
    )
    header, first, second = rows(selection_cost(table, ["table", "method"]))
    assert header[3:] == [POOLED, OWN, "worst validation environment", ORACLE]
    assert first == ["table1", "IRM", "test accuracy", "0.575", "–", "**0.565**", "failed"]  # noqa: RUF001
    assert second[5] == "–"  # noqa: RUF001


def test_a_table_without_a_choice_says_so() -> None:
    table = cells()
    assert selection_cost(table[table["method"] == "ERM"]) == (
        "Every method was chosen by one rule alone.\n"
    )


@pytest.mark.parametrize(
    ("metric", "name"), [("mean_error", "mean error"), ("mse", "mean squared error")]
)
def test_errors_cost_as_well(metric: str, name: str) -> None:
    table = cells().replace({"metric": {"test_acc": metric, "train_acc": "std_error"}})
    _, *body = rows(selection_cost(table))
    assert body[0] == ["r2=0.70", "KerHRM (NTF)", name, "0.325", "**0.315**", "0.335"]
    assert len(body) == 4


def test_verdicts_of_headline_rows_are_counted() -> None:
    table = cells()
    header, *body = rows(verdict_counts(table))
    assert [name.partition(" ")[2] for name in header[1:]] == ["reproduced"]
    assert body == [["test accuracy", "1"]]
    table["verdict"] = "worse"
    table.loc[table["metric"] == "train_acc", "verdict"] = "better"
    header, *body = rows(verdict_counts(table))
    assert [name.partition(" ")[2] for name in header[1:]] == ["better", "worse"]
    # two settings, four methods; other selection rules do not count
    assert body == [["test accuracy", "0", "8"], ["training accuracy", "8", "0"]]
    assert verdict_counts(table.assign(verdict="")) == (
        "The paper prints no number for these cells.\n"
    )


def restarts() -> pd.DataFrame:
    columns = ["setting", "iteration", "seed", "k", "n_starts", "n_label_split", "n_empty",
               "n_unconverged", "usable"]  # fmt: skip
    return pd.DataFrame(
        [
            ("r2=0.70", 1, 0, 10, 20, 3, 0, 1, True),
            ("r2=0.70", 1, 1, 10, 20, 20, 0, 0, False),
            ("r2=0.70", 2, 0, 10, 20, 1, 2, 5, True),
            ("r2=0.80", 1, 0, 10, 7, 0, 0, 0, True),
        ],
        columns=columns,
    )


def test_starts_are_added_up() -> None:
    header, *body = rows(restart_counts({"one": restarts(), "two": restarts().tail(1)}))
    assert header[:3] == ["experiment", "setting", "iteration"]
    assert header[3:7] == ["starts", "label splits", "empty", "not converged"]
    assert header[7] == "searches without a usable start"
    assert body == [
        ["one", "r2=0.70", "1", "40", "23", "0", "1", "1"],
        ["one", "r2=0.70", "2", "20", "1", "2", "5", "0"],
        ["one", "r2=0.80", "1", "7", "0", "0", "0", "0"],
        ["two", "r2=0.80", "1", "7", "0", "0", "0", "0"],
    ]


def test_starts_are_added_up_over_settings() -> None:
    header, *body = rows(restart_counts({"one": restarts()}, ["experiment", "iteration"]))
    assert header[:3] == ["experiment", "iteration", "starts"]
    assert body == [
        ["one", "1", "47", "23", "0", "1", "1"],
        ["one", "2", "20", "1", "2", "5", "0"],
    ]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Logs as `kerhrm.workflow.job` writes them."""

    def leave(path: str, rule: str, *seconds: float) -> None:
        target = tmp_path / "logs" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"2021-01-01 00:00:00,000 {rule}: computed in {s:.3f} s" for s in seconds]
        target.write_text("\n".join([f"2021-01-01 {rule}: computed something", *lines]))

    for experiment, factor in (("one", 1), ("two", 10)):
        leave(f"generate_data/{experiment}/a.log", "generate_data", factor * 1.0)
        leave(f"cluster/{experiment}/a/1.log", "cluster", factor * 2.0)
        leave(f"cluster/{experiment}/b/2.log", "cluster", factor * 3.0)
        leave(f"train_network/{experiment}/a.log", "train_network", factor * 100.0)
        leave(f"score/{experiment}/a.log", "score", factor * 0.5)
    leave("train_erm/one/a.log", "train_erm", 50.0)
    leave("summarise/table1.log", "summarise", 1000.0)  # of no experiment
    leave("report_restarts/one.log", "report_restarts", 1000.0)
    return tmp_path / "logs"


def test_times_are_added_up_from_the_logs(logs: Path) -> None:
    header, *body = rows(compute_times(logs))
    assert header[-2:] == ["one", "two"]
    assert body == [
        ["generate_data", "1.0", "10.0"],
        ["cluster", "5.0", "50.0"],
        ["train_erm", "50.0", "0.0"],
        ["train_network", "100.0", "1000.0"],
        ["score", "0.5", "5.0"],
        ["all rules", "156.5", "1065.0"],
        ["from data to the scores of KerHRM (NTF)", "6.5", "65.0"],
    ]


def test_the_readme_shows_the_first_metric_and_links_to_the_others(tmp_path: Path) -> None:
    path = tmp_path / "table1.md"
    path.write_text(to_markdown(cells(), "Table 1"), encoding="utf-8")
    full, shown = path.read_text(encoding="utf-8"), first_metric(path)
    assert "**Training accuracy**" in full
    assert shown.startswith("### Table 1\n\n**Test accuracy**\n\n|")
    assert "**Training accuracy**" not in shown
    assert "<details>" not in shown
    assert shown.count("Cells: mean") == 1
    assert "(results/reference/tables/table1.md)" in shown
    first = full.partition("\n\n**Training accuracy**")[0]
    assert first in shown


def test_sections_come_from_the_files(tmp_path: Path, logs: Path) -> None:
    table = cells()
    for name in ("table1", "table4", "figure3"):
        (tmp_path / f"{name}.md").write_text(to_markdown(table, name), encoding="utf-8")
        table.assign(table=name).to_csv(tmp_path / f"{name}.csv", index=False)
    restarts().to_csv(tmp_path / "classification.csv", index=False)
    parts = sections(
        [tmp_path / f"{name}.md" for name in ("table1", "table4", "figure3")],
        [tmp_path / f"{name}.csv" for name in ("figure3", "table1", "table4")],
        [tmp_path / "classification.csv"],
        logs,
    )
    assert parts == {
        "tables": f"{first_metric(tmp_path / 'table1.md')}\n\n"
        f"{first_metric(tmp_path / 'table4.md')}\n",
        "selection": selection_cost(
            pd.concat([table, table.assign(table="table4")], ignore_index=True),
            ["table", "method"],
        ),
        "restarts": restart_counts({"classification": restarts()}, ["experiment", "iteration"]),
        "times": compute_times(logs),
    }


def test_the_repositorys_readme_has_every_section() -> None:
    text = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    for name in ("tables", "selection", "restarts", "times"):
        assert replace_section(text, name, "x") != text
