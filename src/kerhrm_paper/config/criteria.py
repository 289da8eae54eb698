"""What are the selection criteria called, in names of cells and in words?"""

from kerhrm.methods.base import POOLED, WORST_INFERRED, WORST_TRUE

DEFAULTS = "library defaults"  #: in the place of a criterion: nothing was selected
ORACLE = "oracle"  #: chooses on test points: no method's own
#: criteria in names, and in words
WORDS = {
    "pooled": POOLED,
    "worst_inferred": WORST_INFERRED,
    "worst_true": WORST_TRUE,
    "oracle": ORACLE,
    "none": DEFAULTS,
}
#: names of criteria, by their words
NAME_OF = {words: name for name, words in WORDS.items()}
