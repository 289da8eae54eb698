"""How the work of jobs grows."""

from pathlib import Path

import pytest

from kerhrm.config.files import read
from kerhrm.config.resolve import resolve
from kerhrm.config.schema import Config
from kerhrm.costs.benchmarks import Cost, Key, published
from kerhrm.costs.predict import Stored
from kerhrm.costs.sizes import UNIT, size_of

ROOT = Path(__file__).parents[3]
PLACES = {
    "extract_ntf": (), "reduce_ntf": (), "learn_environments": ("1",), "learn_direction": ("2",),
    "predict_ntf": (), "train_network": (), "train_method": ("erm",), "score": (),
}  # fmt: skip
SETTING = ("classification", "r2=0.70")


def size(rule: str, *place: str, **changes: object) -> float | None:
    top = {"preset": "smoke", "experiments": {"classification": changes}}
    experiments = resolve(top, ROOT / "config").experiments
    return size_of((rule, *SETTING, *(place or PLACES.get(rule, ()))), experiments)


@pytest.mark.parametrize("rule", PLACES)
def test_more_seeds_and_points_are_more_work(rule: str) -> None:
    usual = size(rule)
    assert usual is not None
    assert size(rule, seeds=6) == 3 * usual
    more = size(rule, data={"n_train_per_environment": 300})
    assert more == (4 if rule == "reduce_ntf" else 2) * usual


def test_every_option_set_is_work() -> None:
    def work(**other_rules_choice: float) -> float:
        """Of one option set, which is selected and all of the grid, and of another rule's."""
        one = {"rho": 0.5, "steps": 10}
        section = {"grid": {name: [value] for name, value in one.items()}, "selected": one}
        methods = {"dro": section | {"rules": {"another rule": one | other_rules_choice}}}
        found = size("train_method", "dro", methods=methods)
        assert found is not None
        return found

    once = work()
    assert work(rho=0.7) == 2 * once
    assert work(rho=0.7, steps=20) == 3 * once
    # fewer steps are met on the way to more
    assert work(steps=5) == once
    assert work(steps=20) == 2 * once


def test_one_reference_serves_all_option_sets() -> None:
    def work(steps: int, reference_steps: int, *weights: float) -> float:
        one = {"steps": steps, "reference_steps": reference_steps, "weight": 1.0}
        rules = {f"rule {weight}": one | {"weight": weight} for weight in weights}
        grid = {name: [value] for name, value in one.items()}
        section = {"grid": grid, "selected": one, "rules": rules}
        found = size("train_method", "eiil", methods={"eiil": section})
        assert found is not None
        return found

    reference_step = (work(20, 30) - work(20, 10)) / 20
    assert work(20, 10, 7.0) - work(20, 10) == 20 * reference_step
    assert work(20, 30, 7.0) - work(20, 10, 7.0) == 20 * reference_step


def test_algorithm_1_in_one_job_is_the_work_of_its_networks() -> None:
    def work(*k: int, steps: int = 20) -> float:
        one = {"k": k[0], "alpha": 1.0, "penalty": 10.0}
        grid = {name: [value] for name, value in one.items()} | {"k": list(k)}
        section = {"grid": grid, "selected": one, "rules": {"pooled validation": one}}
        kerhrm = {"network": {"steps": steps}}
        found = size(
            "train_whole", "kerhrm_grid", methods={"kerhrm_grid": section, "kerhrm": kerhrm}
        )
        assert found is not None
        return found

    assert work(5, 10) == 2 * work(5)
    assert work(5, steps=60) == 3 * work(5)


def test_training_grows_with_the_weights_and_with_the_units() -> None:
    def work(d: int, *widths: int) -> float:
        found = size("train_network", data={"d": d}, network={"widths": [*widths]})
        assert found is not None
        return found

    assert work(5, 64) == 2 * work(5, 32)
    # twice 5 and twice 80 inputs; beside them the other work of a unit
    assert work(80, 64) / work(5, 64) == (160 + UNIT) / (10 + UNIT)
    assert work(5, 64, 32) == work(5, 64) * (1 + (64 + UNIT) * 32 / ((10 + UNIT) * 64))


def test_the_first_iteration_is_more_work() -> None:
    first, second = (size("learn_environments", t) for t in "12")
    assert first is not None
    assert second is not None
    assert first > second  # which keeps one k


def test_landmarks_and_nested_starts_are_less_work() -> None:
    experiments = resolve({"preset": "smoke"}, ROOT / "config").experiments
    setup = experiments["full_mnist"]
    points = 2 * setup.settings["14x14"].data.n_points  # of two seeds
    assert size_of(("reduce_by_landmarks", "full_mnist", "14x14"), experiments) == 100 * points
    # k = 5 and 10, two clusters, two ridges; three starts for the first k, then one
    first, second = (
        size_of(("learn_environments", "full_mnist", "14x14", t), experiments) for t in "12"
    )
    assert first == points * 4 * (3 * 25 + 100)
    assert second == points * 4 * 100


def test_light_rules_and_unknown_places() -> None:
    assert size_of(("summarise", "table1"), {}) == 1
    assert size_of(("publish_full_mnist",), {}) == 1
    assert size_of(("score", "nowhere", "a"), {}) is None
    assert size("mystery") is not None  # by its points
    experiments = resolve({"preset": "smoke"}, ROOT / "config").experiments
    assert size_of(("score", "classification", "elsewhere"), experiments) is None


@pytest.fixture(scope="module")
def costs() -> dict[Key, Cost]:
    return published(ROOT / "results/reference/benchmarks.tsv")


def test_the_published_costs_have_sizes(costs: dict[Key, Cost]) -> None:
    experiments = Config.model_validate(
        read(ROOT / "results/reference/config.yaml").content
    ).experiments
    assert len(costs) > 100
    for key, cost in costs.items():
        assert cost.size == pytest.approx(size_of(key, experiments), rel=1e-3), key
        assert cost.s > 0, key


def test_an_experiment_is_foretold_by_the_others_within_a_factor_of_2(
    costs: dict[Key, Cost],
) -> None:
    """As those of people's own data are: what its jobs take in all."""
    for name in sorted({key[1] for key in costs if len(key) > 2}):
        own = {key: cost for key, cost in costs.items() if len(key) > 2 and key[1] == name}
        others = Stored({}, {k: c for k, c in costs.items() if k not in own}, lambda: 1.0)
        guesses = {key: others.cost(key, cost.size) for key, cost in own.items()}
        foretold = sum(guess.s for guess in guesses.values() if guess)
        actual = sum(own[key].s for key, guess in guesses.items() if guess)
        assert 0.5 < foretold / actual < 2, (name, foretold, actual)
        assert actual > 0.8 * sum(cost.s for cost in own.values()), name
