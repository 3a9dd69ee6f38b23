"""The names of the language: functions with how many arguments each takes, constants, and prefixes.

A name that is not here and is no variable is refused when it is read. Imports no library.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from callgate.model.nearest import nearest

PREFIXES = frozenset({"np", "numpy", "math"})
"""`np.sin`, `numpy.sin` and `math.sin` are `sin`. They are no values: `np` alone means nothing."""

CONSTANTS = frozenset({"pi", "e", "tau", "inf"})

IMAGINARY = frozenset({"i", "j", "I"})
"""How the imaginary unit is written elsewhere. Here they are names as any other."""

NO_IMAGINARY = "there are no imaginary numbers"

_MANY = 100

_ONE = (
    "abs acos acosh asin asinh atan atanh cbrt ceil cos cosh cumsum degrees diff erf erfc exp exp2 expm1 factorial "
    "floor float gamma int isqrt len lgamma log10 log1p log2 mean median norm ones prod radians sign sin sinh sorted "
    "sqrt square sum tan tanh trunc zeros all any array"
)
_OF_LISTS = "all any array cumsum diff len mean median norm prod sorted std sum var"
_TWO = "atan2 comb dot fmod hypot maximum minimum mod perm power quantile percentile"

ARITIES: MappingProxyType[str, tuple[int, int]] = MappingProxyType(
    {
        **dict.fromkeys(_ONE.split(), (1, 1)),
        **dict.fromkeys(_TWO.split(), (2, 2)),
        "arange": (1, 3),
        "clip": (3, 3),
        "gcd": (2, _MANY),
        "lcm": (2, _MANY),
        "linspace": (2, 3),
        "log": (1, 2),
        "max": (1, _MANY),
        "min": (1, _MANY),
        "range": (1, 3),
        "round": (1, 2),
        "std": (1, 1),
        "var": (1, 1),
        "where": (3, 3),
    }
)
"""Each function, with the fewest and the most arguments."""

OF_LISTS = frozenset(_OF_LISTS.split())
"""Those that take one list, and no numbers side by side."""

KEYWORDS = MappingProxyType({"std": {"ddof": 1}, "var": {"ddof": 1}, "linspace": {"num": 2}})
"""The arguments that may be named, each with its place."""

ALIASES = MappingProxyType(
    {
        "absolute": "abs",
        "fabs": "abs",
        "arccos": "acos",
        "arccosh": "acosh",
        "arcsin": "asin",
        "arcsinh": "asinh",
        "arctan": "atan",
        "arctan2": "atan2",
        "arctanh": "atanh",
        "amax": "max",
        "amin": "min",
        "deg2rad": "radians",
        "rad2deg": "degrees",
        "ln": "log",
        "pow": "power",
        "sort": "sorted",
    }
)
"""Other spellings."""


_MEANT = MappingProxyType(
    {
        "average": "mean(…)",
        "avg": "mean(…)",
        "binom": "comb(n, k)",
        "binomial": "comb(n, k)",
        "choose": "comb(n, k)",
        "cot": "1/tan(…)",
        "infinity": "inf",
        "fact": "factorial(…)",
        "root": "sqrt(…)",
        "csc": "1/sin(…)",
        "sec": "1/cos(…)",
        "count": "len(…)",
        "ncr": "comb(n, k)",
        "npr": "perm(n, k)",
        "product": "prod(…)",
        "stdev": "std(…)",
        "variance": "var(…)",
    }
)
"""What is not there by another name, where the likeness of names would lead to something else."""


def function_called(name: str) -> str | None:
    """The function that a name means, if it means one."""
    name = ALIASES.get(name, name)
    return name if name in ARITIES else None


def meant_by(name: str, others: Iterable[str] = ()) -> str | None:
    """What somebody may have meant by a name that is not known.

    Args:
        name: As it was written.
        others: Names that are known beside those of the language.
    """
    small = name.lower()
    if small in _MEANT:
        return _MEANT[small]
    near = nearest(name, (*ARITIES, *ALIASES, *CONSTANTS, *others))
    return f"{near}(…)" if near and function_called(near) else near
