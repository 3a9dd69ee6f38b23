"""What this category offers."""

from __future__ import annotations

from typing import Any

from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.maths.bayes import bayesopt
from callgate.tools.maths.calculating import calculate, statistics
from callgate.tools.maths.equations import symbolic_solve
from callgate.tools.maths.integrals import monte_carlo_native
from callgate.tools.maths.matrices import matrix_eigenvalues, matrix_solve, matrix_svd
from callgate.tools.maths.odes import solve_ode
from callgate.tools.maths.optimizing import optimize
from callgate.tools.maths.sampling import mcmc, monte_carlo
from callgate.tools.services import NOTHING, Services, lending


@lending
def make(_: BuiltinToolsSettings, _services: Services = NOTHING) -> list[Any]:
    """Its tools."""
    return [
        calculate,
        statistics,
        monte_carlo,
        symbolic_solve,
        matrix_solve,
        matrix_eigenvalues,
        matrix_svd,
        solve_ode,
        optimize,
        monte_carlo_native,
        mcmc,
        bayesopt,
    ]
