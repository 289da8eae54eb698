"""Where tensors live."""

import torch

from kerhrm.errors import KerhrmError


def resolve_device(name: str) -> torch.device:
    """``auto`` takes a GPU where there is one; ``cpu``, ``cuda`` and ``cuda:1`` are literal.

    Raises
    ------
    KerhrmError
        If a GPU is asked for and none is there.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise KerhrmError(
            f"device={name}, but PyTorch sees {torch.cuda.device_count()} GPUs",
            "use device=auto or device=cpu, or install a CUDA build of PyTorch",
        )
    return device
