"""Claims of Section 5.1 on Colored MNIST, Table 4 and Figure 2."""

from kerhrm_paper.claims.comparison import Comparison, all_of
from kerhrm_paper.claims.declare import claim
from kerhrm_paper.claims.evidence import Evidence
from kerhrm_paper.claims.settings import BASELINES, ITERATIONS, STATIC
from kerhrm_paper.evaluation.tables import AUTHORS_CODE


@claim
def kerhrm_is_best_on_colored_mnist(evidence: Evidence) -> Comparison:
    """Claim 42 (5.1, Table 4): KerHRM is consistently best on Colored MNIST."""
    accuracy = evidence.cells("table4", "test_acc", "cmnist")
    others = (*BASELINES, STATIC)
    tests = [accuracy.better("KerHRM", than=method) for method in others]
    return all_of(tests)


@claim
def kerhrm_beats_irm_without_environments(evidence: Evidence) -> Comparison:
    """Claim 43 (5.1, Table 4): KerHRM outperforms IRM, though IRM is given the true
    environments."""
    accuracy = evidence.cells("table4", "test_acc", "cmnist")
    return accuracy.better("KerHRM", than="IRM")


@claim
def perfect_model_has_eighty_per_cent(evidence: Evidence) -> Comparison:
    """Claim 44 (Table 4): A perfect invariant model has .8 in training and in the test.

    The best rule on the invariant features stands for it, as the paper names the most
    that can be achieved.
    """
    return all_of(
        evidence.cells("table4", metric, "cmnist").alike(
            "ref: invariant ceiling", to=0.8, within=0.02
        )
        for metric in ("train_acc", "test_acc")
    )


@claim
def methods_vary_little(evidence: Evidence) -> Comparison:
    """Claim 45 (5.1, Table 4): On Colored MNIST all methods vary little over runs.

    The standard deviation of the accuracy is below .02.
    """
    accuracy = evidence.cells("table4", "test_acc", "cmnist")
    methods = (*BASELINES, STATIC, "KerHRM")
    tests = [accuracy.steady(method, below=0.02) for method in methods]
    return all_of(tests)


@claim
def heterogeneity_and_accuracy_rise(evidence: Evidence) -> Comparison:
    """Claim 46 (5.1, Figure 2): Heterogeneity and test accuracy rise together over
    iterations."""
    method = "KerHRM (linear predictor)"
    tests = []
    for metric in ("d_kl", "test_acc"):
        values = evidence.cells("figure2", metric)
        last = values.at("iteration=6", method)
        first = values.at("iteration=1", method)
        test = values.more(last, first)
        tests.append(test)
    return all_of(tests)


@claim
def accuracy_follows_heterogeneity(evidence: Evidence) -> Comparison:
    """Claim 47 (Figure 2, 7): Accuracy is highly correlated with the environments'
    heterogeneity.

    Over the iterations of the authors' code, in the figure's own quantities; the rank
    correlation is above .5.  Our version has no such course: its first iteration finds
    all there is.
    """
    accuracy = evidence.cells("figure2", "test_acc")
    divergence = evidence.cells("figure2", "d_kl")
    return accuracy.following(divergence, AUTHORS_CODE, over=ITERATIONS, by=0.5)
