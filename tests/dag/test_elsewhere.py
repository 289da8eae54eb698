"""Runs in other folders than the checkout, which may be read-only, and as a module."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from dagtools import SMOKE, Checkout, contents, read_only

pytestmark = pytest.mark.dag

# Settings that must not matter, apart from the folder itself.
OTHER = {
    "PYTHONHASHSEED": "1",
    "OMP_NUM_THREADS": "2",
    "TZ": "Asia/Tokyo",
    "LC_ALL": "C",
}
#: Figure 2, reports from the same scores included, and other data and methods
TARGETS = ("figure2", "table3")


def test_a_read_only_checkout_serves_a_run_elsewhere_with_the_same_bytes(
    copies: Callable[[], Path], raw_dir: str | None, results: Path, tmp_path: Path
) -> None:
    """In a folder of its own and another order, with other numbers of cores and
    threads."""
    checkout, elsewhere = (
        Checkout(copies(), raw_dir),
        Checkout(tmp_path / "another name", raw_dir),
    )
    elsewhere.folder.mkdir()
    elsewhere.environment["PYTHONPATH"] = checkout.environment["PYTHONPATH"]
    there = (
        "--snakefile",
        f"{checkout.folder}/Snakefile",
        "--directory",
        str(elsewhere.folder),
    )
    with read_only(checkout.folder):
        with pytest.raises(OSError, match=r"Read-only|Permission"):
            (checkout.folder / "new").touch()
        elsewhere.run(
            *there, *TARGETS, "--scheduler", "ilp", *SMOKE, cores=8, env=OTHER
        )
    first, second = contents(results), contents(elsewhere.folder / "results/smoke")
    assert {
        "tables/table3.csv",
        "notebooks/figure2.ipynb",
        "figures/figure2.png",
    } <= second.keys()
    assert sum(name.endswith(".npz") for name in second) > 20
    assert [name for name in second if second[name] != first[name]] == []
    # equal bytes would prove little if everything were equal
    assert len({first[name] for name in first if name.endswith("predictions.npz")}) > 20


def test_another_workflow_takes_this_one_as_a_module(
    checkout: Checkout, tmp_path: Path
) -> None:
    """Its rules find their scripts, and the configuration; the caller chooses the
    results."""
    module = (
        "module {name}:\n"
        f"    snakefile: '{checkout.folder}/Snakefile'\n"
        "    config: {{'preset': 'smoke', 'results': 'mine'}}\n"
        "{prefix}\n"
        "use rule * from {name} as {name}_*\n"
    )
    places = {"plain": "mine/smoke", "prefixed": "sub/mine/smoke"}
    lines = {"plain": "", "prefixed": "    prefix: 'sub'\n"}
    text = "".join(
        module.format(name=name, prefix=line) for name, line in lines.items()
    )
    (tmp_path / "Snakefile").write_text(text)
    caller = Checkout(tmp_path)
    caller.environment = checkout.environment
    planned = caller.plan("plain_all", "prefixed_all")
    for name, place in places.items():
        jobs = [job for job in planned if job.rule.startswith(f"{name}_")]
        found = {job.rule.removeprefix(f"{name}_") for job in jobs}
        assert found >= {"extract_features", "train", "score", "make_table"}
        assert all(file.startswith(f"{place}/") for job in jobs for file in job.output)
    targets = [
        f"{place}/classification+r2=0.7/data/train.npz" for place in places.values()
    ]
    caller.run(*targets)  # with the scripts of the checkout
    assert all((tmp_path / target).is_file() for target in targets)


def test_a_module_of_a_git_server_needs_no_clone(
    copies: Callable[[], Path], raw_dir: str | None, tmp_path: Path
) -> None:
    """As ``snakedeploy deploy-workflow`` writes it, into an empty folder.

    Git finds the server's address on this disk.
    """
    served = copies()
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    for command in (
        ("init", "--quiet", "--initial-branch", "main"),
        ("add", "--all"),
        (*who, "commit", "--quiet", "--message", "All"),
    ):
        subprocess.run(["git", *command], cwd=served, check=True)
    address = "https://github.com/someone/kerhrm"
    caller = Checkout(tmp_path / "deployed", raw_dir)
    caller.folder.mkdir()
    (caller.folder / "Snakefile").write_text(
        "module kerhrm:\n"
        "    snakefile:\n"
        "        github('someone/kerhrm', path='workflow/Snakefile', branch='main')\n"
        "    config: {'preset': 'smoke'}\n"
        "use rule * from kerhrm\n"
    )
    caller.environment |= {
        "GITHUB_TOKEN": "",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{served.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": address,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    jobs = caller.plan("all")
    rules = {job.rule for job in jobs}
    assert rules >= {"extract_features", "train", "score", "make_table", "all"}
    assert all(file.startswith("results/smoke/") for job in jobs for file in job.output)
    data = "results/smoke/classification+r2=0.7/data/train.npz"
    caller.run(data)  # with the scripts and the package of that commit
    assert (caller.folder / data).is_file()
