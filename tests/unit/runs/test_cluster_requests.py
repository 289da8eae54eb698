"""What a profile must ask for: refused before any job waits in a queue."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from refusals import refusal
from snakemake.cli import parse_set_resources

from kerhrm_paper.runs.cluster import check_gpus, check_threads

PROFILES = Path(__file__).parents[3] / "profiles"
RULES = PROFILES.parent / "workflow" / "rules"


def profile(name: str) -> Any:
    text = (PROFILES / name / "config.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


def overwritten(name: str) -> Any:
    """What Snakemake makes of a profile's set-resources."""
    entries = []
    for rule, resources in profile(name).get("set-resources", {}).items():
        for resource, value in resources.items():
            entries.append(f"{rule}:{resource}={value}")
    return parse_set_resources(entries)


@pytest.mark.parametrize("name", ["slurm", "slurm-gpu"])
def test_a_job_has_a_cpu_for_each_thread(name: str) -> None:
    cores = profile(name)["cores"]
    told = r"threads=4, but a job may ask for 1 CPUs at most; set cores: 4 in the"
    with refusal(told):
        check_threads(4, cores)
    check_threads(1, cores)
    check_threads(4, 4)
    check_threads(4, None)


def test_a_gpu_that_the_profile_does_not_ask_for() -> None:
    resources = overwritten("slurm")
    told = "device=cuda, but the profile asks for no GPU for extract_features; choose"
    with refusal(told):
        check_gpus("cuda", resources)
    with refusal("device=cuda:1"):
        check_gpus("cuda:1", {"train": {"gpu": 0}})
    check_gpus("auto", resources)
    check_gpus("cpu", resources)
    check_gpus("cuda", overwritten("slurm-gpu"))
    check_gpus("cuda", parse_set_resources(["train:gpu=1", "score:mem_mb=1"]))


def test_the_profile_without_gpus_names_every_rule_that_asks_for_one() -> None:
    asking = set()
    for path in RULES.glob("*.smk"):
        name = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.split()
            if words[:1] == ["rule"] and len(words) > 1:
                name = words[1].rstrip(":")
            if "gpu=GPU," in words:
                asking.add(name)
    assert "own_table" in asking
    assert set(profile("slurm")["set-resources"]) == asking
