"""A problem, the contract of a method, and the one loop that runs it against the clock."""

from pauc_core.solver.loop import Budget, Keeper, Look, Progress, Result, solve
from pauc_core.solver.method import Method, Outcome, State
from pauc_core.solver.problem import Iterate, Model, Part, Problem, Work

__all__ = [
    "Budget",
    "Iterate",
    "Keeper",
    "Look",
    "Method",
    "Model",
    "Outcome",
    "Part",
    "Problem",
    "Progress",
    "Result",
    "State",
    "Work",
    "solve",
]
