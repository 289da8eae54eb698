"""How large the cases are: BENCH=full (the default), quick or tiny."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Sizes of all cases; the defaults are those of the paper's Table 1 and Colored MNIST."""

    name: str = "full"
    points: int = 2000  #: training points of Table 1, p = 12 289
    images: int = 5000  #: training images of Colored MNIST, p = 403 457
    width: int = 1024  #: hidden units
    seeds: int = 10  #: of a cell of Table 1
    restarts: int = 10  #: of EM
    rounds: int = 5  #: at most
    budget: float = 10.0  #: seconds for the timed rounds of a case; one is always run
    steps: int = 20  #: of training, in one round
    gemm: int = 2048  #: order of the matrices of the reference product
    k: int = 15
    k_images: int = 25
    grow_n: tuple[int, ...] = (500, 1000, 2000, 4000)
    grow_width: tuple[int, ...] = (256, 512, 1024, 2048)
    grow_k: tuple[int, ...] = (5, 10, 20, 40)
    grow_clusters: tuple[int, ...] = (2, 4, 8)
    grow_seeds: tuple[int, ...] = (1, 2, 4, 8)
    block: int = 500  #: rows that neural-tangents computes at once
    whole_dag: bool = True  #: whether the orchestration runs preset smoke, some two minutes
    patience: int = 400  #: seconds that a process of its own may take


SIZES = {
    s.name: s
    for s in (
        Sizes(),
        Sizes(
            "quick", images=1000, seeds=2, rounds=3, budget=2.0, steps=5, block=100,
            whole_dag=False, patience=60,
            grow_n=(500, 1000, 2000), grow_width=(256, 512, 1024), grow_k=(5, 10, 20),
            grow_clusters=(2, 4), grow_seeds=(1, 2, 4),
        ),
        Sizes(
            "tiny", points=80, images=60, width=16, seeds=2, restarts=2, rounds=1, steps=2,
            gemm=64, k=3, k_images=3, block=20, whole_dag=False, patience=60,
            grow_n=(40, 80), grow_width=(8, 16), grow_k=(2, 4), grow_clusters=(2,),
            grow_seeds=(1, 2),
        ),
    )
}  # fmt: skip


def chosen() -> Sizes:
    """The sizes that the variable BENCH names."""
    return SIZES[os.environ.get("BENCH", "full")]


#: of all cases
THREADS = 1 if chosen().name == "tiny" else min(2, os.cpu_count() or 1)
