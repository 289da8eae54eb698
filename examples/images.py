"""KerHRM on images, with a torch module of your own.

Digits in two colours: is the digit 5 or more?  In training the colour agrees with the
label in 85 % of the images, in the test in 10 %, and a fifth of the labels are wrong.
Which image agrees is hidden.

    python examples/images.py --images 1000 --seed 1

MNIST comes from ``--raw``, the folder KERHRM_RAW_DIR or a mirror.  Where none has it,
small generated images take its place.
"""

import argparse
import math

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score
from torch import nn

from kerhrm import ERM, KerHRMClassifier
from kerhrm_paper.data.colored_mnist import ColoredMnistData, generate
from kerhrm_paper.data.mnist import Digits


def convolution(n_inputs: int) -> nn.Module:
    """Two strided convolutions of images with two colours, which arrive flattened."""
    side = math.isqrt(n_inputs // 2)
    end = (side + 3) // 4
    return nn.Sequential(
        nn.Unflatten(1, (2, side, side)),
        nn.Conv2d(2, 16, kernel_size=3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, kernel_size=3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * end**2, 1),
    )


def compare(digits, images: int, seed: int = 0, **parameters) -> pd.DataFrame:
    """Accuracies of three models, and the adjusted Rand index of environments and
    agreement."""
    sizes = {"n_per_environment": images // 2, "n_test": images}
    sizes["n_validation_per_environment"] = images // 5
    data = generate(ColoredMnistData(**sizes), [seed], digits)
    parts = [
        (part.x[0], part.y[0]) for part in (data.train, data.validation, data.test)
    ]
    (X, y), validation, test = parts
    shared = {"network": convolution, "random_state": seed}
    models = {
        "ERM": ERM(steps=400, **shared),
        "KerHRM (linear predictor)": KerHRMClassifier(**shared, **parameters),
        "KerHRM": KerHRMClassifier(predictor="network", **shared, **parameters),
    }
    rows = {}
    for name, model in models.items():
        model.fit(X, y, validation=validation)
        rows[name] = {"training": model.score(X, y), "test": model.score(*test)}
        if name != "ERM":
            rows[name]["environments"] = adjusted_rand_score(
                agrees(X, y), model.environments_
            )
    return pd.DataFrame.from_dict(rows, orient="index")


def agrees(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether an image's colour is that of its label."""
    first, second = X.reshape(len(X), 2, -1).sum(-1).T
    return (second > first) == (y > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--raw", help="folder with the four files of MNIST")
    parser.add_argument("--images", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    digits = Digits.fetch(args.raw, "fallback")
    print(f"{digits.source}, {args.images} images, seed {args.seed}")
    print(compare(digits, args.images, args.seed).round(3).to_string(na_rep=""))
