"""Adult-Confounded: incomes whose link to people's sex was made by sampling.

The people of UCI's Adult are drawn so that in training a share ``agreement`` of the men
and one minus it of the women earn more, and in a test environment ``r_test`` and one
minus it.  Creager, Jacobsen and Zemel, "Environment inference for invariant learning",
ICML 2021; the shares are those of Huang et al. (EDNIL, NeurIPS 2022), table 2.
"""

from collections.abc import Sequence
from typing import Annotated, Self

import numpy as np
from pydantic import model_validator

from kerhrm.errors import KerhrmError
from kerhrm.options import Count, Options, Probability, Some, option
from kerhrm.randomness import stream
from kerhrm_paper.data.census import ROWS, Adult
from kerhrm_paper.data.drawing import named_by, stack
from kerhrm_paper.data.draws import Draws, Split

#: share of the people of the first file that validation points are drawn from
FOR_VALIDATION = 0.1


class ConfoundedAdultData(Options):
    """Adult-Confounded (Huang et al. 2022, section 4.1.1)."""

    agreement: Probability = option(
        0.9, "P(earns more) of the men in training, one minus it of the women"
    )
    r_test: Annotated[Some[Probability], named_by(".2f")] = option(
        [0.1, 0.5, 0.9],
        "likewise in each test environment; test_acc is of the first one",
    )
    n_train: Count = option(5000, "people for training")
    n_validation: Count = option(1000, "people for validation")
    n_test: Count = option(2000, "people of each test environment")

    @model_validator(mode="after")
    def _are_there(self) -> Self:
        n_first, n_second = ROWS
        n_for_validation = round(FOR_VALIDATION * n_first)
        most = {
            "n_train": n_first - n_for_validation,
            "n_validation": n_for_validation,
            "n_test": n_second,
        }
        for name, limit in most.items():
            if getattr(self, name) > limit:
                raise ValueError(f"{name} is at most {limit}, as Adult has no more")
        return self

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return self.n_train


def generate(options: ConfoundedAdultData, seeds: Sequence[int], adult: Adult) -> Draws:
    """Draw one replicate per seed.

    Training and validation people are different ones of the first file, test people of
    the second.  Sexes and races keep their shares of the file.  Nobody is drawn twice
    before all people of the same sex, race and income have been drawn once.

    x is (S, n, 5 + C + 2): numbers, standardised on the first file; indicators; whether
    a person is black, and male.  y is +1 of those who earn more.  Environment 0 of
    training and validation points has men who earn more and women who do not,
    environment 1 the others.
    """
    splits: dict[str, list[Split]] = {}
    for part in ("train", "validation", "test"):
        splits[part] = []
    x = _features(adult)
    contradicts = adult.earns_more != adult.is_male
    for seed in seeds:
        people = _people(options, seed, adult)
        for part, rows in people.items():
            environment = contradicts[rows]
            if part == "test":
                numbers = np.arange(len(options.r_test))
                environment = np.repeat(numbers, options.n_test)
            y = np.where(adult.earns_more[rows], 1.0, -1.0)
            split = Split(x=x[rows], y=y, environment=environment)
            splits[part].append(split)
    names = [f"r_test={share:.2f}" for share in options.r_test]
    return Draws(
        train=stack(splits["train"]),
        validation=stack(splits["validation"]),
        test=stack(splits["test"]),
        test_environments=names,
        seeds=seeds,
        task="classification",
        source=adult.source,
        n_headline=1,
    )


def _people(
    options: ConfoundedAdultData, seed: int, adult: Adult
) -> dict[str, np.ndarray]:
    """Rows of each part, those of one test environment after those of another."""
    random = stream(seed, "data", "adult", "files")
    of_first = np.flatnonzero(~adult.is_test)
    of_second = np.flatnonzero(adult.is_test)
    shuffled = random.permutation(of_first)
    n_validation = round(FOR_VALIDATION * len(shuffled))
    pools = {
        "train": shuffled[n_validation:],
        "validation": shuffled[:n_validation],
        "test": of_second,
    }
    wanted = {
        "train": [(options.agreement, options.n_train)],
        "validation": [(options.agreement, options.n_validation)],
        "test": [(share, options.n_test) for share in options.r_test],
    }
    people = {}
    for part, environments in wanted.items():
        drawn = []
        for number, (share, n) in enumerate(environments):
            random = stream(seed, "data", "adult", part, str(number))
            rows = _drawn(adult, pools[part], share, n, random)
            drawn.append(rows)
        people[part] = np.concatenate(drawn)
    return people


def _drawn(
    adult: Adult, pool: np.ndarray, share: float, n: int, random: np.random.Generator
) -> np.ndarray:
    """Rows (n,) of a pool, of which a ``share`` of the men, and one minus it of the
    women, earn more."""
    group = 2 * adult.is_black[pool] + adult.is_male[pool]
    sizes = np.bincount(group, minlength=4)
    # rounded where each group ends, so that the sizes add up to n
    ends = n * sizes.cumsum() / len(pool)
    rounded = np.rint(ends).astype(int)
    wanted = np.diff(rounded, prepend=0)
    pool_earns_more = adult.earns_more[pool]
    rows = []
    for number, of_group in enumerate(wanted):
        is_male = number % 2 == 1
        share_of_group = share if is_male else 1 - share
        n_more = round(share_of_group * of_group)
        n_less = of_group - n_more
        is_in_group = group == number
        for earns_more, n_rows in ((True, n_more), (False, n_less)):
            fits = is_in_group & (pool_earns_more == earns_more)
            candidates = random.permutation(pool[fits])
            if n_rows and not len(candidates):
                problem = "a sex, race and income that is to be drawn has nobody"
                raise KerhrmError(problem, "give the published files of Adult")
            rows.append(np.resize(candidates, n_rows))
    drawn = np.concatenate(rows)
    return random.permutation(drawn)


def _features(adult: Adult) -> np.ndarray:
    """x (N, d), float32, of all people."""
    base = adult.numbers[~adult.is_test]
    deviation = base.std(axis=0)
    scale = np.where(deviation > 0, deviation, 1)
    standardised = (adult.numbers - base.mean(axis=0)) / scale
    groups = np.stack([adult.is_black, adult.is_male], axis=1)
    joined = np.concatenate([standardised, adult.indicators, groups], axis=1)
    return joined.astype(np.float32)
