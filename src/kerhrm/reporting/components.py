"""What a spread over seeds comes from, where streams of chance were crossed."""

import numpy as np
import pandas as pd

from kerhrm.reporting.tables import metric_name, results_of

STREAMS = ("data", "network", "clustering")
#: in words
NAMES = {
    "data": "data", "network": "initial weights", "clustering": "starts",
    "together": "what they do together",
}  # fmt: skip


def crossed(seeds: pd.Series) -> pd.DataFrame | None:
    """Numbers of the streams by replicate; None if the replicates are no full cross of them."""
    parts = seeds.astype(str).str.extract(r"^data=(\d+),network=(\d+),clustering=(\d+)$")
    if parts.isna().any(axis=None):
        return None
    found = parts.set_axis(list(STREAMS), axis=1).astype(int)
    full = int(np.prod([found[stream].nunique() for stream in STREAMS]))
    return found if len(found.drop_duplicates()) == full > 1 else None


def variance_components(values: np.ndarray) -> dict[str, float]:
    r"""Variances (Y, W, S) of a full cross of data, weights and starts, (n_y, n_w, n_s) values.

    Of the random effects model :math:`v_{yws} = \mu + a_y + b_w + c_s + e_{yws}`, by the analysis
    of variance (Searle, Casella & McCulloch 1992, chapter 4): with the mean squares :math:`M_i` of
    the main effects and :math:`M_e` of all the rest, that of effect i is
    :math:`(M_i - M_e) / m_i`, where :math:`m_i` values share a level of it; estimates
    below zero count as zero.  Keys are :data:`STREAMS` and ``together``.
    """
    centred = values - values.mean()
    rest, found, squares = centred.copy(), {}, {}
    degrees = values.size - 1
    for axis, stream in enumerate(STREAMS):
        others = tuple(a for a in range(values.ndim) if a != axis)
        effect = centred.mean(axis=others, keepdims=True)
        rest = rest - effect
        levels, share = values.shape[axis], values.size // values.shape[axis]
        degrees -= levels - 1
        squares[stream] = share * float((effect**2).sum()) / max(levels - 1, 1), share
    error = float((rest**2).sum()) / max(degrees, 1)
    for stream, (square, share) in squares.items():
        found[stream] = max((square - error) / share, 0.0)
    return found | {"together": error}


def component_table(scores: pd.DataFrame) -> str:
    """Standard deviations that each source leaves alone, by setting and method, as Markdown."""
    rows = []
    for metric in results_of(scores):
        shown = scores[scores["metric"] == metric]
        for (setting, method), group in shown.groupby(["setting", "method"], sort=False):
            streams = crossed(group["seed"])
            if streams is None or group["value"].nunique() < 2:
                continue
            ordered = streams.assign(value=group["value"]).sort_values(list(STREAMS))
            shape = [streams[stream].nunique() for stream in STREAMS]
            parts = variance_components(ordered["value"].to_numpy().reshape(shape))
            about = {"setting": setting, "method": method, "result": metric_name(metric)}
            rows.append(about | {NAMES[name]: f"{v**0.5:.4f}" for name, v in parts.items()})
    if not rows:
        return "Seeds here differ in all streams of chance at once.\n"
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True) + "\n"
