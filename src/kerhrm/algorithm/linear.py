"""The NTF predictor, of PyTorch's tensors and of NumPy's arrays alike: scoring needs no PyTorch."""

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

Array = TypeVar("Array", np.ndarray, "Tensor")


def predict(psi: Array, f0: Array, theta: Array) -> Array:
    """NTF predictor f_0(x) + psi(x)^T theta of points (B, m, k), (B, m).

    Of one direction per seed (B, k) it is (B, m), of C candidates (B, C, k) it is (B, C, m).
    """
    if theta.ndim == 2:
        return predict(psi, f0, theta[:, None])[:, 0]
    return f0[:, None] + _as_exact(theta, psi) @ psi.mT


def _as_exact(array: Any, other: Any) -> Any:
    """An array in the precision of another one."""
    convert = array.astype if isinstance(array, np.ndarray) else array.to
    return convert(other.dtype)
