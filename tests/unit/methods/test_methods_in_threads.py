"""Every method of the registry, trained by several threads at once: the bits of one
alone."""

from collections.abc import Callable

import pytest
import torch
from at_once import at_once
from quick_methods import K, quick_options
from torch import Tensor

from kerhrm import NTFMap
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.methods.registry import METHODS


@pytest.mark.parametrize("name", METHODS)
def test_threads_train_to_the_bits_of_one_alone(
    name: str, draw: Callable[..., Inputs]
) -> None:
    """Two and eight, each with a fit of its own, and then all with the same fit."""
    method = METHODS[name]
    options = method.options(**quick_options(method))
    task, *_ = method.tasks
    inputs = draw(task, n=60, environments=3, equal=False, noise=0.5, k=K)
    features = NTFMap.fit(inputs.network, inputs.x, K)
    x = torch.linspace(-2, 2, 40).reshape(10, 4)
    psi, f0 = features.transform(x)

    def learned(fitted: Fitted) -> dict[str, Tensor]:
        outputs = dict(fitted.predict(x, psi, f0))
        if fitted.environments is not None:
            outputs["environments"] = fitted.environments
        return outputs

    shared = method.train(inputs, options)
    alone = learned(shared)
    assert len(alone) == len(method.outputs) + method.infers
    for n_threads in (2, 8):
        of_several = at_once(lambda: learned(method.train(inputs, options)), n_threads)
        of_one = at_once(lambda: learned(shared), n_threads, 3)
        for result in of_several + of_one:
            for output, expected in alone.items():
                assert torch.equal(result[output], expected), output
