"""Effects of flipped choices against SciPy, their plot, and the page that is made of them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from configtools import SHIPPED
from scipy import stats

from kerhrm.config.ambiguities import Ambiguity, Catalogue
from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import POOLED, WORST_LEARNED
from kerhrm.reporting import publication
from kerhrm.reporting.ambiguities import (
    COLUMNS,
    LATER,
    effects,
    forest,
    outcome,
    read_study,
    results_shown,
)
from kerhrm.reporting.ambiguities_page import page, write_page
from kerhrm.reporting.publication import publish_study
from kerhrm.scoring.metrics import COLUMNS as SCORED
from kerhrm.scoring.statistics import Effect

NTF, NETWORK = "KerHRM (NTF)", "KerHRM (network)"
SEEDS = 5


def entry(*flips: dict[str, object]) -> Ambiguity:
    words = {"title": "A choice", "paper": [{"words": "w", "where": "section 1"}]}
    told = {"released": "R.", "default": "D.", "because": "B."}
    return Ambiguity.model_validate(words | told | {"flips": list(flips)})


CATALOGUE = Catalogue(
    entries={
        "target": entry(
            {"to": "labels", "mark": "target=label", "where": ["classification", "houses"]}
        ),
        "rows": entry(
            {"to": "features", "method": NETWORK, "instead": NTF, "where": ["classification"]},
            {"to": "pooled", "method": NETWORK, "rule": POOLED, "where": ["classification"]},
        ),
        "absent": entry({"to": "x", "mark": "x=1", "where": ["regression"]}),
    }
)


def scores(setting: str, method: str, metric: str, values: np.ndarray, rule: str) -> pd.DataFrame:
    rows = [(setting, method, s, metric, v, rule, "synthetic", "") for s, v in enumerate(values)]
    return pd.DataFrame(rows, columns=SCORED)


@pytest.fixture
def study(tmp_path: Path) -> dict[str, np.ndarray]:
    """Files of a study, and the values in them by a name."""
    random = np.random.default_rng(0)
    own: dict[str, np.ndarray] = {}
    tables: dict[str, list[pd.DataFrame]] = {"classification": [], "houses": []}
    for mark in ("", ",target=label"):
        for method in (NTF, NETWORK):
            own[f"{method}{mark}"] = values = 0.7 + 0.05 * random.standard_normal(SEEDS)
            tables["classification"].append(
                scores(f"r2=0.80{mark}", method, "test_acc", values, WORST_LEARNED)
            )
        for period in ("1900-1919", "1920-1939", "1940-1959"):
            own[f"{period}{mark}"] = values = 1 + random.random(SEEDS)
            tables["houses"].append(
                scores(f"period={period}{mark}", NTF, "mse", values, WORST_LEARNED)
            )
    own["pooled"] = random.random(SEEDS)
    tables["classification"] += [
        scores("r2=0.80", NETWORK, "test_acc", own["pooled"], POOLED),
        scores("r2=0.80", "ref: majority", "test_acc", np.zeros(SEEDS), "none"),
        scores("r2=0.80", "KerHRM-s", "test_acc", np.zeros(SEEDS), WORST_LEARNED),
        scores("r2=0.80", NTF, "generalisation_gap", np.zeros(SEEDS), WORST_LEARNED),
    ]
    for kind, parts in tables.items():
        # in any order: seeds pair by their number
        whole = pd.concat(parts).sample(frac=1, random_state=0)
        whole.to_csv(tmp_path / f"ambiguities_{kind}.csv", index=False)
    return own


@pytest.fixture
def found(study: dict[str, np.ndarray], tmp_path: Path) -> pd.DataFrame:
    return effects(CATALOGUE, read_study(sorted(tmp_path.glob("*.csv"))))


def row(found: pd.DataFrame, **wanted: str) -> pd.Series:
    kept = found
    for name, value in wanted.items():
        kept = kept[kept[name] == value]
    (one,) = (kept.iloc[i] for i in range(len(kept)))
    return one


def assert_paired(got: pd.Series, flipped: np.ndarray, base: np.ndarray) -> None:
    test = stats.ttest_rel(flipped, base)
    low, high = test.confidence_interval(0.95)
    expected = [base.mean(), flipped.mean(), (flipped - base).mean(), low, high, test.pvalue]
    names = ["base", "flipped", "difference", "ci_low", "ci_high", "p"]
    np.testing.assert_allclose(got[names].to_numpy(dtype=float), expected, rtol=1e-9)
    assert got["n_seeds"] == SEEDS


def test_differences_are_paired_over_seeds(
    found: pd.DataFrame, study: dict[str, np.ndarray]
) -> None:
    assert list(found.columns) == COLUMNS
    for method in (NTF, NETWORK):
        got = row(found, flip="target=label", experiment="classification", method=method)
        assert_paired(got, study[f"{method},target=label"], study[method])
        assert (got["entry"], got["cell"], got["metric"]) == ("target", "r2=0.80", "test_acc")
    got = row(found, flip="target=label", experiment="houses", cell="period=1900-1919")
    assert_paired(got, study["1900-1919,target=label"], study["1900-1919"])


def test_rows_that_stand_side_by_side_are_flips_too(
    found: pd.DataFrame, study: dict[str, np.ndarray]
) -> None:
    got = row(found, flip=f"{NETWORK}: {NTF}")
    assert_paired(got, study[NTF], study[NETWORK])
    assert got["method"] == NETWORK
    assert_paired(row(found, flip=f"{NETWORK}: {POOLED}"), study["pooled"], study[NETWORK])


def test_a_flip_may_be_about_one_row(study: dict[str, np.ndarray], tmp_path: Path) -> None:
    flip = {"to": "x", "mark": "target=label", "where": ["classification"], "only": NETWORK}
    one = Catalogue(entries={"one": entry(flip)})
    got = effects(one, read_study(sorted(tmp_path.glob("*.csv"))))
    assert got["method"].tolist() == [NETWORK]
    assert_paired(got.iloc[0], study[f"{NETWORK},target=label"], study[NETWORK])


def test_houses_have_a_mean_of_the_later_periods(
    found: pd.DataFrame, study: dict[str, np.ndarray]
) -> None:
    def later(mark: str) -> np.ndarray:
        return (study[f"1920-1939{mark}"] + study[f"1940-1959{mark}"]) / 2

    assert_paired(row(found, cell=LATER), later(",target=label"), later(""))
    shown = results_shown(found)
    assert set(shown[shown["experiment"] == "houses"]["cell"]) == {LATER}
    assert len(shown) == 5


def test_what_is_no_result_of_a_method_has_no_effect(found: pd.DataFrame) -> None:
    assert set(found["flip"]) == {flip.name for _, flip in CATALOGUE.flips} - {"x=1"}
    assert set(found["method"]) == {NTF, NETWORK}
    assert set(found["metric"]) == {"test_acc", "mse"}


def test_p_values_are_corrected_within_the_results_on_one_kind_of_data(
    found: pd.DataFrame,
) -> None:
    for kind, n in (("classification", 4), ("houses", 1)):
        family = results_shown(found[found["experiment"] == kind])
        assert len(family) == n
        p = family["p"].to_numpy()
        assert family["p_holm"].min() == pytest.approx(min(1, n * p.min()))
    assert found[found["cell"] == "period=1900-1919"]["p_holm"].isna().all()


def test_a_seed_that_failed_leaves_no_effect(study: dict[str, np.ndarray], tmp_path: Path) -> None:
    paths = sorted(tmp_path.glob("*.csv"))
    table = pd.read_csv(paths[0])
    table.loc[(table["setting"] == "r2=0.80") & (table["seed"] == 1), "value"] = np.nan
    table.to_csv(paths[0], index=False)
    got = effects(CATALOGUE, read_study(paths))
    kept = got[got["experiment"] == "classification"]
    assert kept["difference"].isna().all()
    assert kept["p_holm"].isna().all()


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        ((0.0, 0.0, 0.0, 1.0), "negligible"),
        ((0.01, -0.02, 0.02, 0.3), "negligible"),
        ((0.015, 0.01, 0.02, 0.01), "negligible"),
        ((0.03, 0.01, 0.05, 0.01), "changes"),
        ((-0.03, -0.05, -0.01, 0.01), "changes"),
        ((0.03, -0.01, 0.07, 0.1), "undecided"),
        ((0.015, 0.001, 0.029, 0.04), "undecided"),
        ((np.nan, np.nan, np.nan, np.nan), "failed"),
        ((0.1, np.nan, np.nan, np.nan), "undecided"),  # a single seed
    ],
)
def test_outcomes_go_by_interval_and_margin(effect: tuple[float, ...], expected: str) -> None:
    assert outcome(Effect(*effect), 0.02) == expected


@pytest.mark.usefixtures("no_window")
def test_the_plot_has_a_marker_for_every_result(found: pd.DataFrame) -> None:
    figure = forest(found, CATALOGUE, "smoke")
    assert [axis.get_title() for axis in figure.axes] == ["classification", "house prices"]
    drawn = [line for axis in figure.axes for line in axis.lines if len(line.get_xdata()) == 1]
    points = sorted(float(line.get_xdata()[0]) for line in drawn)
    np.testing.assert_allclose(points, sorted(results_shown(found)["difference"]))
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["target=label", f"{NETWORK}: {NTF}", f"{NETWORK}: {POOLED}"]
    assert "not for comparison" in figure.get_suptitle()


def test_the_page_tells_choices_options_and_effects(found: pd.DataFrame) -> None:
    told = {
        ("classification", "target=label"): {"methods": {"kerhrm": {"target": "label"}}},
        ("houses", "target=label"): {"methods": {"kerhrm": {"target": "label"}}},
    }
    text = page(CATALOGUE, found.assign(p_holm=0.01, outcome="changes"), told)
    assert "> w (section 1)" in text
    assert "- `target=label`: labels; `methods.kerhrm.target: label`\n" in text
    change = row(found, flip=f"{NETWORK}: {POOLED}")["difference"]
    assert text.count(f"**{change:+.3f} [") == 2  # among those that matter, and below its choice
    assert "4 effects: 4 changes." in text
    plain = page(CATALOGUE, found.assign(p_holm=1.0, outcome="negligible"), told)
    assert "**+" not in plain
    assert plain.count(f"{change:+.3f} [") == 1
    empty = page(CATALOGUE, pd.DataFrame(columns=COLUMNS), told)
    assert "Nothing has been published yet." in empty


def test_a_study_is_published_with_the_experiments_that_measured_it(
    found: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publication, "gemm_rate", lambda: 98.76)
    run, folder = tmp_path / "results" / "paper", tmp_path / "reference" / "ambiguities"
    (run / "figures").mkdir(parents=True)
    experiments = {name: {} for name in ("ambiguities_houses", "houses")}
    tree = {"preset": "paper", "experiments": experiments}
    (run / "config.yaml").write_text(yaml.safe_dump(tree))
    with pytest.raises(KerhrmError, match=r"has no ambiguities\.csv; run the workflow first"):
        publish_study(run, folder, "ambiguities")
    found.to_csv(run / "ambiguities.csv", index=False)
    for name in ("ambiguities.png", "figure3.png"):
        (run / "figures" / name).write_bytes(b"png")
    publish_study(run, folder, "ambiguities")
    names = ["ambiguities.csv", "ambiguities.png", "config.yaml", "versions.json"]
    assert sorted(path.name for path in folder.iterdir()) == names
    kept = yaml.safe_load((folder / "config.yaml").read_text())
    assert list(kept["experiments"]) == ["ambiguities_houses"]
    found.assign(data_source="stand-in:digits").to_csv(run / "ambiguities.csv", index=False)
    with pytest.raises(KerhrmError, match=r"ambiguities\.csv holds stand-in data"):
        publish_study(run, folder, "ambiguities")


def test_the_page_is_up_to_date() -> None:
    """Else: python -m kerhrm.reporting.ambiguities_page."""
    path, text = write_page(SHIPPED.parent)
    assert path.read_text(encoding="utf-8") == text
