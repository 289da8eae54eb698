"""Studies by name: their code, what they read and write, and how long they take.

The rules of the workflow are made of these declarations (workflow/rules/studies.smk).
No study is imported here: planning needs no PyTorch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

TARGET = "study_"  #: a study's rule is called after this and its name
#: of the estimator ``TangentRidge``
RIDGE = "kerhrm.methods.ridge"


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """Where a study's code is, and the files that it reads and writes."""

    entry: str  #: of its :class:`~kerhrm_paper.studies.study.Study`
    tables: tuple[str, ...]
    figures: tuple[str, ...] = ()
    #: modules of methods, which its code loads by name
    methods: tuple[str, ...] = ()
    raw: str | None = None  #: raw data that it reads
    #: files of the checkout that it reads, by name
    files_read: Mapping[str, str] = field(default_factory=dict)
    minutes: int  #: on one core
    memory_mb: int = 4000
    smoke: int = 1  #: units of each drawn table at preset smoke

    @property
    def files(self) -> list[str]:
        """Names of the files that it makes, in the folder ``studies`` of a run."""
        tables = [f"{name}.csv" for name in self.tables]
        figures = [f"{name}.png" for name in self.figures]
        return tables + figures


STUDIES = {
    "pretest": Declaration(
        entry="kerhrm_paper.studies.pretest:STUDY",
        tables=("pretest_draws", "pretest"),
        figures=("pretest",),
        minutes=8,
        smoke=8,
    ),
    "labels": Declaration(
        entry="kerhrm_paper.studies.labels:STUDY",
        tables=("labels_draws", "labels"),
        methods=(RIDGE,),
        raw="mnist",
        minutes=14,
        smoke=4,
    ),
    "drift": Declaration(
        entry="kerhrm_paper.studies.drift:STUDY",
        tables=("drift_draws", "drift"),
        methods=(RIDGE,),
        minutes=4,
        smoke=8,
    ),
    "heterogeneity": Declaration(
        entry="kerhrm_paper.studies.heterogeneity:STUDY",
        tables=(
            "heterogeneity_draws",
            "heterogeneity_errors",
            "heterogeneity",
            "heterogeneity_mean_errors",
        ),
        methods=(RIDGE,),
        raw="houses",
        minutes=8,
        smoke=4,
    ),
    "starts": Declaration(
        entry="kerhrm_paper.studies.starts:STUDY",
        tables=("starts_splits", "starts_lambda", "starts_summary"),
        figures=("starts_selection",),
        raw="mnist",
        minutes=10,
    ),
    "scale": Declaration(
        entry="kerhrm_paper.studies.scale:STUDY",
        tables=("scale_learning_curve", "scale_approximation"),
        figures=("learning_curve",),
        raw="mnist",
        minutes=60,
        memory_mb=16_000,
    ),
    "scale_curve": Declaration(
        entry="kerhrm_paper.studies.scale_curve:STUDY",
        tables=("scale_curve", "scale_curve_growth"),
        figures=("scale_curve",),
        methods=(
            "kerhrm.methods.kerhrm",
            "kerhrm.methods.eiil",
            "kerhrm.methods.jtt",
            "kerhrm.methods.afr",
        ),
        raw="mnist",
        files_read={"selected": "config/selected/colored_mnist.yaml"},
        minutes=150,
        memory_mb=16_000,
    ),
    "hidden_columns": Declaration(
        entry="kerhrm_paper.studies.hidden_columns:STUDY",
        tables=(
            "hidden_columns_strength",
            "hidden_columns",
            "hidden_columns_draws",
            "hidden_columns_null",
        ),
        files_read={"lock": "envs/tables.lock"},
        minutes=3,
        smoke=2,
    ),
    "sizes": Declaration(
        entry="kerhrm_paper.studies.sizes:STUDY",
        tables=("sizes",),
        minutes=60,
        memory_mb=10_000,
    ),
    "real_tables": Declaration(
        entry="kerhrm_paper.studies.real_tables:STUDY",
        tables=(
            "real_tables_errors",
            "real_tables",
            "real_tables_mean",
            "real_tables_found",
        ),
        figures=("real_tables",),
        methods=(RIDGE,),
        files_read={
            "protocol": "config/real_tables.yaml",
            "lock": "envs/tables.lock",
        },
        minutes=6,
        smoke=2,
    ),
}
