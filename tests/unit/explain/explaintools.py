"""A small finished run: two settings, KerHRM's network and ERM, all files that jobs leave."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from kerhrm.methods.registry import POOLED, WORST_LEARNED
from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.tables import build_table
from kerhrm.storage.arrays import save_arrays

NETWORK, SEEDS = "KerHRM (network)", (0, 1, 2)
SETTINGS = ("r2=0.70", "r2=0.70,H=I")
VALUES = {"ERM": [0.41, 0.43, 0.45], NETWORK: [0.70, 0.72, 0.77]}
RULES = {"ERM": POOLED, NETWORK: WORST_LEARNED}
PAPER = PaperValues({("table1", "r2=0.70", m, "test_acc"): 0.66 for m in ("ERM", "KerHRM")})
BEST = {"learning_rate": 0.01, "steps": 200}
KERHRM = {"k": [25], "invariance": {"alpha": [1.0]}, "network": {"penalty": [100.0], "steps": 400}}


def configuration(preset: str = "paper") -> dict[str, Any]:
    """As a run writes it down, with few options."""
    setting = {
        "data": {"generator": "classification", "r2": 0.7},
        "run": ["erm", "kerhrm", "igd"],
        "methods": {
            "erm": {"grid": {"steps": [100, 200]}, "selected": BEST, "rules": {}},
            "kerhrm": KERHRM,
        },
    }
    experiment = {
        "title": "Classification", "about": "long", "table": "table1", "in_all": True, "budget": 2,
        "protocol": "accuracy",
        "seeds": {"data": list(SEEDS)}, "settings": dict.fromkeys(SETTINGS, setting),
        "tuning": {"settings": ["r2=0.75"], "seeds": 5, "first_seed": 100}, "tuned_like": None,
    }  # fmt: skip
    apart = experiment | {"table": "apart", "in_all": False}
    experiments = {"classification": experiment, "other": apart}
    return {"preset": preset, "device": "auto", "results": "results", "experiments": experiments}


def _jobs(setting: str) -> list[tuple[str, str, list[str], list[str]]]:
    """Rule, place, inputs and outputs of a setting's jobs."""
    at = f"classification/{setting.replace(',', '+')}"
    data = [f"{at}/data/{part}.npz" for part in ("train", "test_inputs", "test_labels")]
    rows = [f"{at}/predictions/{name}.npz" for name in ("erm", "kerhrm-network")]
    theta = f"{at}/iterations/1/theta.npz"
    network = [rows[1], f"{at}/networks/kerhrm.npz"]
    return [
        ("generate_data", at, [], data),
        ("train_method", f"{at}/erm", data[:2], rows[:1]),
        ("learn_direction", f"{at}/1", data[:1], [theta]),
        ("predict_ntf", at, [theta], [f"{at}/direction.npz"]),
        ("train_network", at, [*data[:2], f"{at}/direction.npz"], network),
        ("score", at, [*rows, data[0], data[2]], [f"{at}/scores.csv"]),
    ]


def make_run(folder: Path, preset: str = "paper") -> Path:
    """``results/<preset>`` below a folder."""
    run = folder / "results" / preset
    scores = pd.DataFrame(
        [
            (setting, method, seed, "test_acc", value, RULES[method], "synthetic", "")
            for setting in SETTINGS
            for method, values in VALUES.items()
            for seed, value in zip(SEEDS, values, strict=True)
        ],
        columns=[
            "setting", "method", "seed", "metric", "value", "selection", "data_source", "reason",
        ],
    )  # fmt: skip
    collected = [f"classification/{s.replace(',', '+')}/scores.csv" for s in SETTINGS]
    tables = [f"tables/table1.{suffix}" for suffix in ("csv", "md")]
    jobs = [job for setting in SETTINGS for job in _jobs(setting)]
    jobs += [
        ("collect_scores", "classification", collected, ["scores/classification.csv"]),
        ("summarise", "table1", ["config/paper_values.yaml", "scores/classification.csv"], tables),
        ("render_notebook", "table1", tables[:1], ["notebooks/table1.ipynb"]),
    ]
    for number, (rule, place, inputs, outputs) in enumerate(jobs):
        own = f"results/{preset}"
        for file in outputs:
            _write(run / file, f"{file}\n")
        note = {
            "rule": rule, "keep": True, "log": [f"{own}/logs/{rule}/{place}.log"],
            "inputs": [f if f.startswith("config/") else f"{own}/{f}" for f in inputs],
            "outputs": [f"{own}/{file}" for file in outputs],
        }  # fmt: skip
        _write(run / "made" / f"{number:02}.json", json.dumps(note))
        begun = f"2026-01-31 12:{number:02}:00,250"
        _write(run / "logs" / rule / f"{place}.log", f"{begun} {rule}: computed in 1.000 s\n")
        cost = "s\th:m:s\tmax_rss\n1.50\t0:00:01\t100.0\n"
        _write(run / "benchmarks" / rule / f"{place}.tsv", cost)
    for setting in SETTINGS:
        theta = run / "classification" / setting.replace(",", "+") / "iterations/1/theta.npz"
        arrays = {"score": np.array([[0.1, 0.5]] * 3), "chosen": np.array([1, 1, 0])}
        save_arrays(theta, arrays)
    _write(run / "scores" / "classification.csv", scores.to_csv(index=False))
    _write(
        run / "tables" / "table1.csv",
        build_table(scores, "table1", preset, PAPER).to_csv(index=False),
    )
    choices = "setting,seed,k,alpha,iteration,lambda,p\n"
    choices += "".join(f"r2=0.70,{seed},25,1.0,{1 + seed % 2},100.0,\n" for seed in SEEDS)
    _write(run / "choices" / "classification.csv", choices)
    _write(run / "config.yaml", yaml.safe_dump(configuration(preset)))
    return run


def make_tuned(folder: Path) -> Path:
    """What `tune` leaves in ``config/tuned`` of a checkout."""
    told = [
        ("erm", POOLED, {"learning_rate": 0.01, "steps": 100}, 0.85),
        ("erm", POOLED, BEST, 0.86),
        ("kerhrm_grid", WORST_LEARNED, {"k": 10, "alpha": 0.0, "penalty": 10.0}, 0.7),
        ("kerhrm_grid", WORST_LEARNED, {"k": 25, "alpha": 1.0, "penalty": 100.0}, 0.74),
    ]
    rows = [
        (method, rule, setting, i % 2, json.dumps(options), score + shift, 0.01, 5)
        for i, (method, rule, options, score) in enumerate(told)
        for setting, shift in (("r2=0.75", 0.01), ("r2=0.75,H=I", -0.01))
    ]
    columns = ["method", "rule", "setting", "candidate", "options", "score", "std", "n_seeds"]
    path = folder / "config" / "tuned" / "classification.csv"
    _write(path, pd.DataFrame(rows, columns=columns).to_csv(index=False))
    return path.parent


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
