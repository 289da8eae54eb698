"""The one exception for everything that a user can mend."""


class KerhrmError(ValueError):
    """Bad input: one line that says what is wrong, where, and the cure.

    Parameters
    ----------
    problem : str
        What is wrong and where, for example ``"k=50 exceeds n=40 training points"``.
    cure : str, optional
        What the user can do about it.
    """

    def __init__(self, problem: str, cure: str | None = None) -> None:
        self.problem = problem
        self.cure = cure
        super().__init__(f"{problem}; {cure}" if cure else problem)
