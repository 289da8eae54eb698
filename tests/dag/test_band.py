"""The band of the algorithm as printed: what it is made of, and who reads it."""

import pytest
from dagtools import SMOKE, TARGETS, Checkout, rules

from kerhrm_paper.config.config import CHECKOUT
from kerhrm_paper.config.endpoints import load_endpoints

pytestmark = pytest.mark.dag

TABLES = load_endpoints(CHECKOUT / "config/endpoints.yaml").band.tables.values()
PUBLISHED = "results/reference/as_printed_band.csv"
OWN = "results/smoke/as_printed_band.csv"


def test_the_band_is_of_the_declared_tables_and_no_part_of_all(
    checkout: Checkout,
) -> None:
    planned = checkout.plan("as_printed_band", *SMOKE)
    jobs = {job.rule: job for job in planned}
    made = [f"results/smoke/scores/{name}.csv.gz" for name in TABLES]
    assert {*made} <= {*jobs["measure_band"].input}
    assert jobs["measure_band"].output == ("results/smoke/as_printed_band.csv",)
    assert {f"results/smoke/tables/{name}.csv" for name in TABLES} <= {
        file for job in planned for file in job.output
    }
    assert "test_endpoints" not in jobs
    assert "measure_band" not in rules(checkout.plan(*TARGETS, *SMOKE))


def test_the_endpoints_read_the_published_band_if_there_is_one(
    checkout: Checkout,
) -> None:
    path = checkout.folder / PUBLISHED
    for is_published in (True, False):
        path.unlink(missing_ok=True)
        if is_published:
            path.write_text("table\n")
        planned = checkout.plan("results/smoke/endpoints.csv", *SMOKE)
        (job,) = (job for job in planned if job.rule == "test_endpoints")
        assert (PUBLISHED in job.input) == is_published


def test_the_endpoints_read_the_run_s_own_band_where_it_has_one(
    checkout: Checkout,
) -> None:
    """Or makes one: published files of a run would contradict each other else."""
    path = checkout.folder / PUBLISHED
    path.write_text("table\n")
    planned = checkout.plan("as_printed_band", "results/smoke/endpoints.csv", *SMOKE)
    (job,) = (job for job in planned if job.rule == "test_endpoints")
    assert OWN in job.input
    assert PUBLISHED not in job.input
    run = checkout.folder / "results" / "smoke"
    for name in ("provenance", "temporary"):
        (run / name).mkdir(parents=True, exist_ok=True)
    (checkout.folder / OWN).write_text("table\n")
    planned = checkout.plan("results/smoke/endpoints.csv", *SMOKE)
    (job,) = (job for job in planned if job.rule == "test_endpoints")
    assert OWN in job.input
    assert PUBLISHED not in job.input
