"""Every option set is trained alike: the same samples, the same w_0, all points predicted."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from kerhrm.config.methods import ERM
from kerhrm.data.dataset import FILES, Dataset, Split
from kerhrm.features.mlp import MLP, init_mlp
from kerhrm.methods.candidates import train_candidates
from kerhrm.methods.predictions import Predictions, load_points
from kerhrm.methods.samples import Predictor, Samples
from kerhrm.methods.training import train

SEEDS, D, HIDDEN = (101, 7), 3, (8, 4)
SIZES = {"train": 12, "validation": 6, "test": 5}
CPU = torch.device("cpu")
OPTIONS = [ERM(steps=steps, learning_rate=1e-2) for steps in (1, 5, 3)]


def split(part: str) -> Split:
    rng = np.random.default_rng(len(part))
    shape = (len(SEEDS), SIZES[part])
    return Split(
        rng.standard_normal((*shape, D)).astype(np.float32),
        rng.choice([-1.0, 1.0], shape).astype(np.float32),
        rng.integers(0, 2, shape).astype(np.int8),
    )


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    paths = {name: tmp_path / f"{name}.npz" for name in FILES}
    parts = [split(part) for part in SIZES]
    Dataset(*parts, "synthetic", ["a"], SEEDS).save(paths)
    paths.pop("test_labels").unlink()  # nothing that trains may need them
    return paths


def few_steps(samples: Samples, mlp: MLP, options: ERM) -> Predictor:
    """A network after ``options.steps`` steps; its outputs carry no gradient."""
    return train(
        mlp,
        samples.x,
        lambda f, rows: ((f - samples.y[rows]) ** 2).mean(-1),
        steps=options.steps,
        learning_rate=options.learning_rate,
    )


class Recorder:
    """A method that keeps what it was given and answers with ``steps`` times f_w0."""

    def __init__(self) -> None:
        self.calls: list[tuple[Samples, list[Tensor], ERM]] = []

    def __call__(self, samples: Samples, mlp: MLP, options: ERM) -> Predictor:
        self.calls.append((samples, [p.clone() for p in mlp.parameters()], options))
        scale = torch.tensor(float(options.steps), requires_grad=True)
        return lambda x: scale * mlp(x)


def points() -> dict[str, Tensor]:
    return {part: torch.from_numpy(split(part).x) for part in SIZES}


def test_candidates_stand_on_the_second_axis(files: dict[str, Path]) -> None:
    found = train_candidates(Recorder(), OPTIONS, files, HIDDEN, "cpu")
    w0 = init_mlp(SEEDS, (D, *HIDDEN, 1))
    assert isinstance(found, Predictions)
    for part, x in points().items():
        outputs = getattr(found, part)
        assert outputs.shape == (len(SEEDS), len(OPTIONS), SIZES[part])
        assert outputs.device == torch.device("cpu")
        assert not outputs.requires_grad
        for c, options in enumerate(OPTIONS):
            torch.testing.assert_close(outputs[:, c], options.steps * w0(x), rtol=1e-6, atol=0)


def test_every_candidate_starts_from_w_0_of_the_seeds(files: dict[str, Path]) -> None:
    method = Recorder()
    train_candidates(method, OPTIONS, files, HIDDEN, "cpu")
    assert [options for _, _, options in method.calls] == OPTIONS
    w0 = init_mlp(SEEDS, (D, *HIDDEN, 1)).parameters()
    for samples, weights, _ in method.calls:
        assert samples is method.calls[0][0]
        for got, expected in zip(weights, w0, strict=True):
            assert torch.equal(got, expected)


def test_a_candidate_does_not_notice_the_others(files: dict[str, Path]) -> None:
    together = train_candidates(few_steps, OPTIONS, files, HIDDEN, "cpu")
    assert float((together.test[:, 0] - together.test[:, 1]).abs().max()) > 1e-3
    for c, options in enumerate(OPTIONS):
        alone = train_candidates(few_steps, [options], files, HIDDEN, "cpu")
        for part in SIZES:
            assert torch.equal(getattr(alone, part)[:, 0], getattr(together, part)[:, c])


def test_labels_are_handed_over_only_where_they_are_given(files: dict[str, Path]) -> None:
    given, not_given = Recorder(), Recorder()
    train_candidates(given, OPTIONS[:1], files, HIDDEN, "cpu")
    train_candidates(not_given, OPTIONS[:1], files | {"environments": []}, HIDDEN, "cpu")
    labels = given.calls[0][0].environment
    assert labels is not None
    np.testing.assert_array_equal(labels.numpy(), split("train").environment)
    assert not_given.calls[0][0].environment is None


def test_candidates_survive_their_file(files: dict[str, Path], tmp_path: Path) -> None:
    found = train_candidates(few_steps, OPTIONS, files, HIDDEN, "cpu")
    found.save(tmp_path / "found.npz", options=[o.model_dump(mode="json") for o in OPTIONS])
    again = Predictions.load(tmp_path / "found.npz")
    for part in SIZES:
        assert torch.equal(getattr(again, part), getattr(found, part))


def test_points_are_those_of_the_files(files: dict[str, Path]) -> None:
    loaded = load_points({n: files[n] for n in ("train", "validation", "test_inputs")}, CPU)
    for got, expected in zip(loaded, points().values(), strict=True):
        assert got.dtype == torch.float32
        assert torch.equal(got, expected)
