"""A search without data, candidates or a plan that fit is refused in one line."""

from refusals import refusal
from small_config import TREE, A, B, Load


def test_a_search_needs_data_on_which_something_is_tried(load: Load) -> None:
    tuning = {"tuning": {"data": [A, "made+r2=0.9"], "seeds": 2}}
    assert load({"data/made.yaml": tuning})  # without a search it is not looked at
    config = load({"data/made.yaml": tuning}, preset="tuning")
    cells = config.searches["made"].cells
    assert {data for data, _ in cells} == {A, "made+r2=0.9"}
    of_no_table = {"tuning": {"data": ["made+r2=0.9"]}}
    no_grid = {"steps": None, "learning_rate": None}
    for changes in (
        {"data/made.yaml": of_no_table},
        {"learners.yaml": {"erm": {"grid": no_grid}}},
    ):
        with refusal(r"no learner that a table shows on made"):
            load(changes, preset="tuning")


def test_a_search_tries_the_same_on_all_data(load: Load) -> None:
    other_grid = {"grid": {"steps": [1, 2]}}
    changes = {
        "data/made.yaml": {"tuning": {"data": [A, B]}},
        "learners.yaml": {"erm": {"at": {B: other_grid}}},
    }
    with refusal(r"erm: its candidates on .* differ"):
        load(changes, preset="tuning")


def test_a_search_needs_a_data_set_that_is_tuned(load: Load) -> None:
    for preset in ({"preset": "tuning"}, {"search": True}):
        with refusal("no data set says on what it is tuned"):
            load(data={"made": {"tuning": None}}, **preset)


def test_a_search_has_not_too_many_candidates(load: Load) -> None:
    many_steps = list(range(1, 2000))
    changes = {"learners.yaml": {"erm": {"grid": {"steps": many_steps}}}}
    with refusal(r"erm.grid: it has more than 1000 comb"):
        load(changes, preset="tuning")


def test_tuning_is_on_data_of_the_data_set(load: Load) -> None:
    other = TREE["data/made.yaml"] | {"at": {}, "tuning": None}
    for data, told in (
        ("other", "other are other data; write made"),
        ("maed", "did you mean 'made'"),
        ("made+r2=0.70", "write made+r2=0.7"),
    ):
        made = {"tuning": {"data": [data]}}
        changes = {"data/other.yaml": other, "data/made.yaml": made}
        pattern = told.replace("+", r"\+")
        with refusal(pattern):
            load(changes, preset="tuning")
