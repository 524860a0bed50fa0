"""AGD-SBCD for any torch module: the same two algorithms with a network's weights for v and w."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from pauc_core.agd_sbcd.on_device import pair_means
from pauc_core.agd_sbcd.pairs import first_lam, inner_iterations, sample_sizes, sampled_rows
from pauc_core.metrics import ranks
from pauc_core.models.flat import Shapes, Weights, flatten, views
from pauc_core.models.module import ModuleModel
from pauc_core.objective.losses import get_loss
from pauc_core.solver import Iterate, Problem, State, Work
from pauc_core.solver.samples import draw
from pauc_core.solver.schedules import Harmonic, Quadratic

if TYPE_CHECKING:
    from pauc_core.agd_sbcd.algorithm import AGDSBCD


@dataclass(kw_only=True)
class ModuleState(State):
    """Outer step k, inner iteration t, and the flat weights of both calls: row 0 is l = m.

    ``w``, ``v`` and the means hold what is learned, in the order of ``shapes``; ``others`` hold
    the rest of a network (running statistics, frozen weights) for each call, and ``shown`` for
    each iterate that is looked at. ``lam`` and ``drift`` are (2, N+): the average of lam over T
    iterations is lam - drift / T.
    """

    shapes: Shapes
    w: Tensor
    v: Tensor
    v_mean: Tensor
    v_bar: Tensor
    lam: Tensor
    drift: Tensor
    others: list[Weights]
    shown: dict[str, Weights]
    k: int = 0
    t: int = 0

    def averages(self) -> Tensor:
        """vbar_m and vbar_n so far in this outer step; between two, those of the last one."""
        return self.v_mean if self.t else self.v_bar

    def looked_at(self) -> dict[str, Weights]:
        """The state dicts of vbar_n and of w."""
        flat = {"scored": self.averages()[1], "w": self.w}
        return {name: {**views(x, self.shapes), **self.shown[name]} for name, x in flat.items()}

    def iterates(self) -> dict[str, Iterate]:
        return dict(self.looked_at())

    def own(self) -> dict[str, float]:
        v_m, v_n = self.averages()
        return {
            "outer": self.k,
            "inner": self.t,
            "v_gap": float((v_m - v_n).double().norm()),
            "lam_m_mean": float(self.lam[0].mean()),
            "lam_n_mean": float(self.lam[1].mean()),
        }


class ModuleSBCD:
    """Algorithm 2 over a torch module, for a training loop and a sampler of one's own.

    At each step hand over the numbers 0 .. N+ - 1 of freshly drawn positives, their inputs and
    those of freshly drawn negatives; ``averaged`` gives the network to score with. The module
    lends its structure and its first weights, and is left as it is.

    Parameters
    ----------
    module : nn.Module
        Gives one score a row, shape (b,) or (b, 1).
    n_pos, n_neg : int
        Positives and negatives in the whole training set.
    fpr_low, fpr_high : float
        The band; or its whole ranks as ``band`` = (m, n).
    mu, gamma, c, T
        As in `AGDSBCD`, in normalised units.
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        n_pos: int,
        n_neg: int,
        mu: float,
        gamma: float,
        c: float,
        T: int,
        fpr_low: float = 0.0,
        fpr_high: float = 1.0,
        band: tuple[int, int] | None = None,
        loss: str = "logistic",
        state: ModuleState | None = None,
        work: Work | None = None,
    ) -> None:
        self.module = module
        self.work = work or Work()
        self.m, self.n = band or ranks(n_neg, fpr_low, fpr_high)
        self.n_neg, self.mu, self.gamma = n_neg, mu, gamma
        self.rate, self.inner = Harmonic(c), Quadratic(T)
        self.loss = get_loss(loss).name
        self.state = state or first_state(module, module.state_dict(), torch.zeros(2, n_pos))

    @property
    def live(self) -> tuple[int, ...]:
        """The calls that are made: for m = 0 f^m is zero and vbar_m = w without one."""
        return (0, 1) if self.m else (1,)

    def step(self, pos_index: Tensor | np.ndarray, x_pos: Tensor, x_neg: Tensor) -> None:
        """One inner iteration of both calls on the same samples, and the outer update when due."""
        inputs = torch.cat([x_pos, x_neg])
        for call in self.live:
            self.descend(call, pos_index, inputs)
        self.advance()

    def descend(
        self,
        call: int,
        pos_index: Tensor | np.ndarray,
        inputs: Tensor,
        signs: Tensor | None = None,
    ) -> None:
        """One iteration of Algorithm 1 for one call; the inputs are positives, then negatives.

        With ``signs`` (-y of each row) it is Algorithm 3: all inputs are ranked against the one
        positive without a row, whose score is 0.
        """
        state = self.state
        drawn = torch.as_tensor(pos_index, device=state.lam.device)
        v, eta, mu = state.v[call], self.rate(state.k), self.mu
        leaf = v.detach().clone().requires_grad_()
        weights = {**views(leaf, state.shapes), **state.others[call]}
        self.module.train()
        self.work.add(2 * len(inputs))  # forward and back
        scores = functional_call(self.module, weights, (inputs,)).reshape(-1)
        fixed = scores.detach().double()
        head = 0 if signs is not None else len(drawn)
        p = fixed[:head] if head else fixed.new_zeros(1)
        q = fixed[head:] if signs is None else fixed * signs
        up, down, above = pair_means(p, q, state.lam[call, drawn], self.loss)
        slopes = torch.cat([-up, down]) if signs is None else down * signs
        (gradient,) = torch.autograd.grad(scores, leaf, slopes.to(scores))  # Alg. 1 line 5
        state.v_mean[call].lerp_(v, 1 / (state.t + 1))
        # Alg. 1 line 6, (v/eta + w/mu - G) / (1/eta + 1/mu)
        v.mul_(mu / (mu + eta)).add_(state.w, alpha=eta / (mu + eta))
        v.add_(gradient, alpha=-eta * mu / (mu + eta))
        share = (self.m, self.n)[call] / self.n_neg
        change = -eta * (share - above)  # Alg. 1 lines 7 and 8, theta' = eta'
        state.lam[call, drawn] += change
        state.drift[call, drawn] += (state.t + 1) * change

    def advance(self) -> None:
        """Count an inner iteration; after the last one of an outer step, Algorithm 2 line 5."""
        state = self.state
        state.t += 1
        if state.t < self.inner(state.k):
            return
        state.v_bar = state.v_mean.clone()
        state.lam -= state.drift / state.t  # Algorithm 1 hands on the averaged lam
        state.drift.zero_()
        state.w.sub_(state.v_bar[0] - state.v_bar[1], alpha=self.gamma / self.mu)
        state.v.copy_(state.w)
        state.v_mean.copy_(state.w)
        state.k += 1
        state.t = 0

    def averaged(self, batches: Iterable[Tensor] = ()) -> nn.Module:
        """A copy of the module with the weights vbar_n, in evaluation mode.

        Give some training batches if it has batch-norm layers: no batch ever passed through an
        averaged network, so its running statistics must be gathered anew.
        """
        network = copy.deepcopy(self.module)
        learned = views(self.state.averages()[1], self.state.shapes)
        network.load_state_dict({**learned, **self.state.others[1]})
        refresh_batch_norm(network, batches)
        return network.eval()


def first_state(module: nn.Module, weights: Weights, lam: Tensor, **counters: Any) -> ModuleState:
    """The state before the first iteration from a state dict of the module."""
    learned = [name for name, value in module.named_parameters() if value.requires_grad]
    w, shapes = flatten(weights, learned)
    others = {name: weights[name] for name in weights if name not in shapes}
    both = torch.stack([w, w])
    lam = lam.to(device=w.device, dtype=torch.float64).clone()
    return ModuleState(
        shapes=shapes,
        w=w,
        v=both,
        v_mean=both.clone(),
        v_bar=both.clone(),
        lam=lam,
        drift=torch.zeros_like(lam),
        others=[_clone(others), _clone(others)],
        shown={"scored": _clone(others), "w": _clone(others)},
        **counters,
    )


@torch.no_grad()
def refresh_batch_norm(module: nn.Module, batches: Iterable[Tensor]) -> None:
    """Replace the running statistics by plain means over the given batches; none, no change."""
    layers = _batch_norms(module)
    batches = iter(batches)
    first = next(batches, None)
    if not layers or first is None:
        return
    was_training, momenta = module.training, [layer.momentum for layer in layers]
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # torch's word for a plain mean over the batches
    module.train()
    module(first)
    for batch in batches:
        module(batch)
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum
    module.train(was_training)


def start(method: AGDSBCD, problem: Problem, rng: np.random.Generator) -> ModuleState:
    """First state of a problem whose model is a module."""
    model = _model(problem)
    weights = model.start(rng)
    lam, passes = first_lam(method.lam_start, problem, weights)
    return first_state(
        model.module,
        weights,
        torch.from_numpy(lam),
        epochs=float(passes),
    )


def proceed(
    method: AGDSBCD, problem: Problem, state: State, rng: np.random.Generator
) -> ModuleState:
    """Inner iterations worth one step of the solver, then the statistics of what is looked at."""
    assert isinstance(state, ModuleState)
    model, train, sorr = _model(problem), problem.train, problem.goal == "sorr"
    neg_rows = train.rows if sorr else train.negatives
    n_pos = 1 if sorr else len(train.positives)
    solver = ModuleSBCD(
        model.module,
        n_pos=n_pos,
        n_neg=len(neg_rows),
        mu=method.mu,
        gamma=method.gamma,
        c=method.c,
        T=method.T,
        band=problem.ranks,
        loss=problem.loss,
        state=state,
        work=model.work,
    )
    size_i, size_j = sample_sizes(problem, method.I, method.J)

    def sample() -> tuple[np.ndarray, Tensor, Tensor | None]:
        pos_index = draw(rng, n_pos, size_i, 1)[0]
        rows = neg_rows[draw(rng, len(neg_rows), size_j, 1)[0]]
        if sorr:
            signs = torch.from_numpy(np.where(train.y[rows], -1.0, 1.0)).to(state.lam)
            return pos_index, model.batch(train.x, rows, rng, train=True), signs
        rows = np.concatenate([train.positives[pos_index], rows])
        return pos_index, model.batch(train.x, rows, rng, train=True), None

    per_call = sampled_rows(problem, method.I, method.J)
    for _ in range(inner_iterations(problem, method.I, method.J)):
        drawn = sample()
        for call in solver.live:
            if method.samples == "separate" and call != solver.live[0]:
                drawn = sample()
            solver.descend(call, *drawn)
        solver.advance()
        state.epochs += per_call / len(train)
    if _batch_norms(model.module):
        _show(model.module, state, [sample()[1] for _ in range(method.refresh)])
        model.work.add(2 * method.refresh * per_call)
    return state


def _show(module: nn.Module, state: ModuleState, batches: list[Tensor]) -> None:
    """Gather the running statistics of both iterates that are looked at."""
    network = copy.deepcopy(module)
    for which, weights in state.looked_at().items():
        network.load_state_dict(weights)
        refresh_batch_norm(network, batches)
        fresh = network.state_dict()
        state.shown[which] = {name: fresh[name].clone() for name in state.shown[which]}


def _batch_norms(module: nn.Module) -> list[nn.modules.batchnorm._BatchNorm]:
    kind = nn.modules.batchnorm._BatchNorm
    return [x for x in module.modules() if isinstance(x, kind) and x.track_running_stats]


def _clone(weights: Weights) -> Weights:
    return {name: value.detach().clone() for name, value in weights.items()}


def _model(problem: Problem) -> ModuleModel:
    if not isinstance(problem.model, ModuleModel):
        raise TypeError(
            f"AGDSBCD got a {type(problem.model).__name__} of kind 'module'; expected ModuleModel."
        )
    return problem.model
