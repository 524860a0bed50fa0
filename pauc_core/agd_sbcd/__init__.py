"""The paper's method: Algorithms 1 to 3 for linear models; `networks` holds them for torch."""

from pauc_core.agd_sbcd.algorithm import AGDSBCD, AGDState

__all__ = ["AGDSBCD", "AGDState"]
