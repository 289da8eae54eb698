"""Statements about training networks, checked by small runs on the synthetic data."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import torch
from sklearn.linear_model import RidgeClassifier
from torch import Tensor

from kerhrm.claims.claim import Claim
from kerhrm.claims.evidence import Case, Finding
from kerhrm.claims.labs import LAMBDA, Lab, Size
from kerhrm.claims.parts import all_of, more
from kerhrm.data.samples import Predictor
from kerhrm.features.extract import extract
from kerhrm.methods.eiil.options import EIIL
from kerhrm.methods.eiil.train import train_eiil
from kerhrm.methods.erm.options import ERM
from kerhrm.methods.erm.train import train_erm
from kerhrm.methods.irm.options import IRM
from kerhrm.methods.irm.train import train_irm
from kerhrm.networks.mlp import MLP, forward
from kerhrm.networks.protocol import Network
from kerhrm.scoring.metrics import accuracy
from kerhrm.scoring.verdicts import CRITERIA

MARGIN, SHARE = (CRITERIA[m].tolerance for m in ("test_acc", "mse"))
RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  #: in units of the kernel's mean eigenvalue
RATE = 0.5  #: of gradient descent, as a share of the largest stable one
REFERENCES = (0.25, 2.5)  #: EIIL's reference, as shares of the steps: of 200, 50 and 500
HALF = 0.5  #: of a squared length: closer to parallel than to orthogonal


def training_is_linear_regression(case: Case) -> Finding:
    """Gradient descent of the network, and of its linearisation by as many steps at once.

    With squared loss, residuals of the latter are (I - 2 eta K / n)^t times those at w_0.
    """
    lab, steps = case.labs.classification, case.labs.size.steps
    changed, relative, fitted = [], [], []
    for b in range(len(lab.seeds)):
        rows = slice(b, b + 1)
        network, x, y = lab.network.take(rows), lab.samples.x[rows], lab.samples.y[rows]
        with torch.no_grad():
            (ntf, f0), (new, f0_new) = (extract(network, p) for p in (x, lab.x_test[rows]))
            values, vectors = torch.linalg.eigh(ntf.kernel(ntf)[0].double())
            kappa = new.kernel(ntf)[0].double()
        eta = RATE * len(values) / float(values[-1])  # of |f - y|^2 / n, stable below twice that
        residual = vectors.mT @ (y - f0)[0].double()
        shrunk = 1 - (1 - 2 * eta / len(values) * values) ** steps
        weights = vectors @ (residual * shrunk / values.clamp_min(1e-9 * values[-1]))
        linear = f0_new[0].double() + kappa @ weights
        trained = _descend(network, x, y, steps, eta)(lab.x_test[rows])[0].detach().double()
        changed.append(float(((trained > 0) != (linear > 0)).double().mean()))
        relative.append(float((trained - linear).norm() / (linear - f0_new[0]).norm()))
        explained = 1 - float((((1 - shrunk) * residual) ** 2).sum() / (residual**2).sum())
        fitted.append(explained)
    name = f"share of test labels that differ, below {MARGIN}"
    note = (
        f"r2 = .80, {steps} steps of gradient descent, as in the theory (the tables use Adam), "
        f"explain {np.mean(fitted):.2f} of the labels' square; on test points labels differ for "
        f"{np.mean(changed):.4f}, outputs by {np.mean(relative):.4f} of their change"
    )
    return Finding(more(name, MARGIN - np.array(changed)), note)


def _descend(network: Network, x: Tensor, y: Tensor, steps: int, rate: float) -> Network:
    """Plain gradient descent of the mean squared error."""
    network = network.trainable_copy()
    parameters = network.parameters()
    for _ in range(steps):
        gradients = torch.autograd.grad(((network(x) - y) ** 2).mean(), parameters)
        with torch.no_grad():
            for p, g in zip(parameters, gradients, strict=True):
                p -= rate * g
    return network.frozen()


def eiil_depends_on_its_reference(case: Case) -> Finding:
    lab, size = case.labs.classification, case.labs.size
    found = []
    references = [int(share * size.steps) for share in REFERENCES]
    for steps in references:
        options = EIIL(reference_steps=steps, steps=size.steps, inference_steps=5 * size.steps)
        (predictor,) = train_eiil(lab.samples, lab.network, options, [steps])
        found.append(_test_accuracy(lab, predictor))
    name = f"test accuracy, reference of {references[0]} steps less {references[1]}"
    note = (
        f"r2 = .80; {found[0].mean():.3f} and {found[1].mean():.3f}; heavily: by more than {MARGIN}"
    )
    return Finding(more(name, found[0], found[1], by=MARGIN), note)


def low_rank_suffices(case: Case) -> Finding:
    """Ridge regression on k and on all directions, on validation points, each at its best ridge."""
    k, told, parts = case.labs.size.k, [], []
    for lab in (case.labs.classification, case.labs.regression):
        low, whole = (_best_ridge(lab, reduced) for reduced in (True, False))
        if lab.problem.task == "classification":
            parts.append(more(f"accuracy, k = {k} against all", low[0], whole[0], by=-MARGIN))
            told.append(f"accuracy {low[0].mean():.3f} and {whole[0].mean():.3f}")
        else:
            by = -SHARE * float(whole[1].mean())
            parts.append(more(f"regression's error, all against k = {k}", whole[1], low[1], by=by))
            told.append(f"error {low[1].mean():.2f} and {whole[1].mean():.2f}")
    note = f"in distribution, at most {MARGIN} and {SHARE:.0%} behind: {'; '.join(told)}"
    return Finding(all_of(parts), note)


def _best_ridge(lab: Lab, reduced: bool) -> tuple[np.ndarray, np.ndarray]:
    """Accuracy and mean squared error (B,) on validation points, at the best ridge."""
    problem, y = lab.problem, lab.problem.y_validation
    accuracies, errors = [], []
    for b in range(len(lab.seeds)):
        rows = slice(b, b + 1)
        if reduced:
            psi, held_out = problem.psi_train[b], problem.psi_validation[b]
            kernel, cross = psi @ psi.mT, held_out @ psi.mT
        else:
            with torch.no_grad():
                ntf, new = (
                    extract(lab.network.take(rows), p[rows])[0]
                    for p in (lab.samples.x, lab.samples.x_validation)
                )
                kernel, cross = ntf.kernel(ntf)[0].double(), new.kernel(ntf)[0].double()
        values, vectors = torch.linalg.eigh(kernel)
        target = vectors.mT @ problem.target[b]
        scaled = [target / (values + ridge * values.clamp_min(0).mean()) for ridge in RIDGES]
        outputs = problem.f0_validation[b] + torch.stack(scaled) @ (cross @ vectors).mT
        squares = ((outputs - y[b]) ** 2).mean(-1)
        best = squares.argmin()
        errors.append(float(squares[best]))
        accuracies.append(float(accuracy(outputs[best].numpy(), y[b].numpy())))
    return np.array(accuracies), np.array(errors)


def deep_is_stronger(case: Case) -> Finding:
    """Regression: the network by ERM against ridge regression on all NTFs."""
    lab, size = case.labs.regression, case.labs.size
    steps = 2 * size.steps
    (network,) = train_erm(lab.samples, lab.network, ERM(steps=steps), [steps])
    outputs = network(lab.samples.x_validation).detach().double()
    trained = ((outputs - lab.problem.y_validation) ** 2).mean(-1).numpy()
    _, linear = _best_ridge(lab, reduced=False)
    note = (
        f"in distribution, ridge and steps at their best: {linear.mean():.2f} by NTFs, "
        f"{trained.mean():.2f} by the same network trained; no larger one was tried"
    )
    return Finding(
        more("regression's error, by NTFs less by the trained network", linear, trained), note
    )


def penalty_makes_parallel(case: Case) -> Finding:
    """Squared cosine of w - w_0 and V theta, the gradient of sum_i (U S^-1 theta)_i f_i."""
    lab, problem = case.labs.classification, case.labs.classification.problem
    theta = case.labs.iterations[-1][1].winner.theta
    weights = (problem.u @ (theta / problem.s).unsqueeze(-1)).squeeze(-1)
    start = lab.network.trainable_copy()
    total = (weights.to(lab.samples.x) * start(lab.samples.x)).sum()
    direction = _flat(torch.autograd.grad(total, start.parameters()))
    found, told = {}, []
    for penalty, network in case.labs.guided.items():
        change = [
            p - q for p, q in zip(network.parameters(), lab.network.parameters(), strict=True)
        ]
        found[penalty] = _squared_cosine(_flat(change), direction)
        with torch.no_grad():
            moved = network(lab.samples.x).double() - problem.f0_train
        within = (moved.unsqueeze(1) @ problem.u).squeeze(1) / problem.s
        inside = _squared_cosine(within, theta)
        told.append(f"lambda = {penalty:g}: {found[penalty].mean():.2f}, {inside.mean():.2f}")
    name = f"share of |w - w_0|^2 along V theta, lambda = {LAMBDA:g}"
    note = (
        f"above {HALF} of it: more along than across; of w - w_0, and of S^-1 U^T (f_w - f_0) "
        f"along theta: {'; '.join(told)}"
    )
    return Finding(more(name, found[LAMBDA], by=HALF), note)


def _squared_cosine(a: Tensor, b: Tensor) -> np.ndarray:
    """Of rows (B, p): (B,)."""
    return torch.cosine_similarity(a, b, dim=-1).square().numpy()


def _flat(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters of each network in a row, (B, p)."""
    return torch.cat([p.detach().flatten(1) for p in parameters], 1)


def penalty_makes_invariant(case: Case) -> Finding:
    lab = case.labs.classification
    found = [_test_accuracy(lab, case.labs.guided[penalty]) for penalty in (LAMBDA, 0.0)]
    name = f"test accuracy, lambda = {LAMBDA:g} less 0"
    return Finding(
        more(name, found[0], found[1]), f"{found[0].mean():.3f} and {found[1].mean():.3f}"
    )


def variant_part_is_discarded(case: Case) -> Finding:
    """What a linear probe of the hidden layer finds of A before and after invariant training."""
    lab, size = case.labs.classification, case.labs.size
    samples = replace(lab.samples, environment=lab.perfect[..., 1].long())
    steps = 2 * size.steps
    (trained,) = train_irm(samples, lab.network, IRM(steps=steps), [steps])
    probed = [_probe(lab, network, size) for network in (lab.network, trained)]
    reached = _test_accuracy(lab, trained)
    name = "accuracy of a linear probe for A, at w_0 less after training"
    note = (
        f"IRM on the split that varies most (test accuracy {reached.mean():.3f}): "
        f"{probed[0].mean():.3f} and {probed[1].mean():.3f}; discarded: by more than {MARGIN}"
    )
    return Finding(more(name, probed[0], probed[1], by=MARGIN), note)


def _probe(lab: Lab, network: Network, size: Size) -> np.ndarray:
    """Accuracy (B,) of a ridge classifier for A on the hidden layer, on validation points."""
    assert isinstance(network, MLP)
    half = lab.sources.shape[-1] // 2
    with torch.no_grad():
        hidden, new = (
            forward(network, x)[-2].numpy() for x in (lab.samples.x, lab.samples.x_validation)
        )
    a = lab.attribute.numpy()
    a_new = lab.sources_validation[..., half:].sum(-1).sign().numpy()
    fits = (RidgeClassifier(alpha=1.0).fit(h, one) for h, one in zip(hidden, a, strict=True))
    return np.array([f.score(h, one) for f, h, one in zip(fits, new, a_new, strict=True)])


def _test_accuracy(lab: Lab, predictor: Predictor) -> np.ndarray:
    with torch.no_grad():
        outputs = predictor(lab.x_test)
    return accuracy(outputs.numpy(), lab.y_test.numpy())


CLAIMS = (
    Claim(2, "1, 3.1", "Training the network is linear regression on NTFs",
          training_is_linear_regression),
    Claim(3, "1, A.4", "EIIL depends heavily on its reference model",
          eiil_depends_on_its_reference),
    Claim(11, "3.1", "A low rank k suffices", low_rank_suffices),
    Claim(13, "3.1", "The cosine's penalty makes w - w_0 nearly parallel to V theta",
          penalty_makes_parallel),
    Claim(14, "3.1", "The penalty forces the network to be invariant", penalty_makes_invariant),
    Claim(53, "A.4", "Deep invariant training gradually discards variant components",
          variant_part_is_discarded),
    Claim(54, "A.4", "NTFs are less powerful than deep representations", deep_is_stronger),
)  # fmt: skip
