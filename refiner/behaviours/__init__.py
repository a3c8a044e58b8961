"""Behaviours: a closed vocabulary of predicates that code evaluates on every trace.

No statistics, no outcomes and no proposals here; those read predicates, predicates read spans.
"""

from refiner.behaviours.features import ending
from refiner.behaviours.literals import literal, signature, typed
from refiner.behaviours.phrases import Phrase, phrase, terms
from refiner.behaviours.predicates import Joined, Not, Order, Plain, Predicate, PredicateError, negate, parse
from refiner.behaviours.table import table, task_of, vocabulary
from refiner.behaviours.values import STOP_WORDS, string_types, value_types, words

VERSION = 1
"""Changes when an atom's meaning or text would."""

__all__ = [
    "STOP_WORDS",
    "VERSION",
    "Joined",
    "Not",
    "Order",
    "Phrase",
    "Plain",
    "Predicate",
    "PredicateError",
    "ending",
    "literal",
    "negate",
    "parse",
    "phrase",
    "signature",
    "string_types",
    "table",
    "task_of",
    "terms",
    "typed",
    "value_types",
    "vocabulary",
    "words",
]
