"""Code: running and looking at code, kept apart from everything else."""

from callgate.tools.category import Category

CATEGORY = Category(
    extra="code",
    tools={
        "python_eval": ("pydantic_monty",),
        "run_shell": (),
        "git_status": (),
        "lint_python": ("ruff",),
        "lint_code": ("ruff",),
        "run_tests": (),
    },
    programs=dict.fromkeys(("run_shell", "git_status", "lint_code", "run_tests"), "bwrap"),
)
