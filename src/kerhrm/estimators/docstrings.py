"""What the estimators' docstrings share."""

from kerhrm.docstrings import completer

NETWORK = """\
network : sequence of int, str or callable
    Hidden widths; or a function at the top level of a module, which makes a torch module with
    one output from the number of columns, or its name, ``"package.module:function"``.
"""
DRAWN = """\
random_state : int, RandomState or None
    Seed of everything that is drawn.
device : str
    ``"auto"``, ``"cpu"`` or ``"cuda"``.
n_jobs : int, optional
    Cores, by default those that PyTorch takes; -1: all.  Give 1 beside other busy processes:
    threads wait for each other at every step, and so for a core that one of them lacks.
"""
SEEN = """\
n_features_in_ : int
    Columns of the fit.
feature_names_in_ : ndarray of shape (n_features,)
    Of a table with column names.
"""
#: of the two estimators of KerHRM
ALGORITHM = """\
n_environments : int, optional
    K, an upper bound; by default 2.
k : int or sequence of int, optional
    Reduced dimensions to try, by default 10, 15, 20 and 25; lowered to the rank of the
    features and to the training rows per environment, where these are fewer.  Many columns
    that have nothing to do with each other need a k as large as their number.
n_iterations : int, optional
    T, by default 3.
alpha : float or sequence of float, optional
    Weights to try of what differs between environments, by default 0, .1, 1 and 10.
penalty : str, optional
    What of it: ``"gradient_variance"`` (default), ``"whitened_gradient_variance"`` or
    ``"scale_gradient_variance"``.
cosine_weight : float or sequence of float, optional
    lambda of the network, by default 10, 100 and 1000.
n_init : int, optional
    Random starts of the clustering, by default 10.
ridge : float or sequence of float, optional
    Of the clusters' regressions, by default .001 and .01.
selection : {"worst_learned", "pooled"}, optional
    What chooses among k, alpha, lambda and iterations: the worst learned environment (default),
    or all validation rows together.
predictor : {"ntf", "network"}
    What predicts: the invariant direction itself, or a network that is trained along it, which
    takes longer.
"""
SIZES = """\
max_exact : int
    Training rows above which features are reduced by way of ``n_landmarks`` of them.
n_landmarks : int
    More are more exact, and take longer.
"""
VERBOSE = """\
verbose : int
    1: a progress bar, if tqdm is installed.
"""
#: of the method ``fit``
FIT = """{does}

Parameters
----------
X : array-like of shape (n_samples, n_features)
    Numbers; standardised inside.
y : array-like of shape (n_samples,)
    Two labels of any kind, or numbers, which are standardised inside.
sample_weight : array-like of shape (n_samples,), optional
    Whole numbers: a row of weight 2 is two rows.
validation : (X, y), optional
    Rows that {choose}; by default a ``validation_fraction`` of the rows.{more}

Returns
-------
self
    Fitted.

Raises
------
KerhrmError
    A ``ValueError`` of one line that names the column or parameter, and the cure.
"""


#: for lines ``<algorithm>`` and so on
completed = completer(
    {
        "algorithm": ALGORITHM,
        "network": NETWORK,
        "sizes": SIZES,
        "drawn": DRAWN,
        "verbose": VERBOSE,
        "seen": SEEN,
    }
)


def fit_docstring(does: str, validation: str, more: str = "") -> str:
    """Of a method ``fit``: what it does, what validation rows are for, and further parameters."""
    return FIT.format(does=does, choose=validation, more=more)
