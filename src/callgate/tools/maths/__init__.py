"""Maths: numbers, statistics, matrices, equations, random sampling; one language of expressions for all of them."""

from callgate.tools.category import Category

CATEGORY = Category(
    extra="maths",
    tools={
        "calculate": ("numpy",),
        "statistics": ("numpy",),
        "monte_carlo": ("numpy",),
        "symbolic_solve": ("sympy",),
        "matrix_solve": ("numpy",),
        "matrix_eigenvalues": ("numpy",),
        "matrix_svd": ("numpy",),
        "solve_ode": ("numpy", "scipy"),
        "optimize": ("numpy", "scipy"),
        "monte_carlo_native": ("numpy",),
        "mcmc": ("numpy",),
        "bayesopt": ("numpy", "scipy"),
    },
)
