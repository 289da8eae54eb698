"""What settings have in common is computed once, and nothing that differs is shared."""

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from dagtools import Job
from expected import SETUPS

from kerhrm.methods.registry import METHODS

pytestmark = pytest.mark.dag


def texts(*contents: object) -> str:
    return json.dumps(contents, sort_keys=True)


def test_jobs_are_as_many_as_there_is_different_work(dag: list[Job]) -> None:
    """Counted from the configuration alone, without the code that shares."""
    needed: dict[str, set[str]] = {}
    for setup in SETUPS.values():
        seeds, network = setup.seeds.model_dump(), setup.network.model_dump()
        for name, setting in setup.settings.items():
            data = setting.data.model_dump(mode="json")
            points = texts(data, seeds, network)
            needed.setdefault("generate_data", set()).add(texts(data, seeds["data"]))
            if any(METHODS[method].reads != "points" for method in setting.run):
                needed.setdefault("extract_ntf", set()).add(points)
                needed.setdefault("reduce_ntf", set()).add(points)
            if "kerhrm" in setting.run:
                options = setting.methods.kerhrm
                last = {"iterations", "network", "end", "guard"}
                loop = texts(points, options.model_dump(exclude=last))
                for t in range(1, options.iterations + 1):
                    for rule in ("learn_environments", "learn_direction"):
                        needed.setdefault(rule, set()).add(texts(loop, t))
                needed.setdefault("predict_ntf", set()).add(
                    texts(loop, options.iterations, options.end, str(options.guard))
                )
            for method in setting.run:
                kinds = {"points": "train_method", "features": "train_on_features"}
                kinds["whole"] = "train_whole"
                if rule := kinds.get(METHODS[method].reads):
                    choices = setup.choices(name, method)
                    needed.setdefault(rule, set()).add(texts(method, points, choices))
    made = Counter(job.rule for job in dag)
    assert {rule: made[rule] for rule in needed} == {rule: len(n) for rule, n in needed.items()}
    settings = sum(len(setup.settings) for setup in SETUPS.values())
    assert made["generate_data"] < settings  # something is shared


def test_no_two_jobs_write_equal_files(results: Path) -> None:
    """What they make differs as their options do."""
    seen: dict[str, Path] = {}
    for pattern in ("data/train.npz", "features/*.npz", "iterations/*/theta.npz"):
        for path in sorted(results.glob(f"*/*/{pattern}")):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            assert seen.setdefault(digest, path) == path
    assert len(seen) > 20


def test_shared_files_have_one_maker(dag: list[Job]) -> None:
    """Figure 2 has of its own what stands beside the iterations; these are those of table 4."""
    made = [file for job in dag for file in job.output]
    assert len(made) == len(set(made))
    own = {file for file in made if "/iterations/cmnist/" in file}
    beside = ("scores.csv", "pooled.npz", "released.npz")
    assert own == {f"results/smoke/iterations/cmnist/{name}" for name in beside}
    (job,) = [job for job in dag if job.rule == "score" and own & set(job.output)]
    used = {match[1] for f in job.input if (match := re.match(r"results/smoke/(\w+/\w+)/", f))}
    assert used == {"colored_mnist/cmnist", "iterations/cmnist"}
