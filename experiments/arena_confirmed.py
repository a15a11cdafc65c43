"""Does what the arena showed hold on other seeds?  Claims of nine papers, in small.

Three seeds in `arena` show what may be so; here eight others decide it, of which each draws its
own examples. Tasks, network and updates are the arena's, the learning rates those that its tuning
chose. What is claimed was seen there first; only of the sigmoids the paper says something else:
recall is 76 % there with them, and 100 with softmax.

- recall: Zhang et al. 2024 (Hedgehog) train it from scratch, with softmax and elu + 1: 100 and 17 %
  (Table 2). Schlag et al. 2021 let a state overwrite what it holds for a key, which a sum cannot
  (section 6.1). Normalized sigmoids match softmax in Ramapuram et al. 2024 (abstract).
- parity: an LSTM generalizes and a Transformer does not (Deletang et al. 2023, Table 2), nor does a
  recurrence without negative eigenvalues (Grazzi et al. 2024, theorem 1)
- induction at four times the length: Gu and Dao 2023, Table 11, have 58.6 % for absolute positions
  at twice the length and 83.6 for rotary ones. ALiBi (Press et al. 2022), stick-breaking (Tan et
  al. 2024) and a forget gate (Lin et al. 2025) are said to extrapolate.

The papers' networks and texts are far larger, so that no figure is compared: 0.2 and other bounds
are set by us. A claim is judged if the better network has learnt the task at its own lengths.

Came out, in % right: induction beyond, stick-breaking and the forget gate 100, ALiBi 90, rotary
positions 61, learned ones and sinusoids 39; parity beyond, the LSTM 100, softmax 50; recall,
softmax 100, elu + 1 30, the delta rule 37 to 96. With sigmoids recall is 100 in seven seeds and 37
in one, so that the arena's three, 68 to 86, were no typical ones. With strengths to 2 one seed of
eight fails at recall, another at parity, and neither claim is judged; the others have 99 and 98
beyond.

    attnjax run arena_confirmed    # 45 minutes of one core
"""

from functools import partial

import attnjax
from attnjax.experiment import Ablation, Claim, Difference, Value, vary

RIGHT, BEYOND = "label_accuracy", "label_accuracy_beyond"
rates = {
    "recall-softmax": 0.003,
    "recall-linear": 1 / 30,
    "recall-sigmoid": 0.003,
    "recall-delta": 0.003,
    "recall-delta_to_2": 0.01,
    "parity-lstm": 1 / 30,
    "parity-softmax": 1 / 3000,
    "parity-delta": 0.001,
    "parity-delta_to_2": 1 / 30,
    "induction-softmax": 0.001,
    "induction-learned": 0.003,
    "induction-sinusoidal": 0.01,
    "induction-alibi": 0.003,
    "induction-stick_breaking": 0.001,
    "induction-forgetting": 0.003,
}
cells = attnjax.load("arena").ablation.variants
variants = {name: vary(cells[name], {"optimizer.schedule.peak": rates[name]}) for name in rates}


def above(
    pair: Difference, low: float, text: str, source: str | None, quote: str | None = None
) -> Claim:
    """Return that the better of two cells is above the worse, judged if it has learnt its task."""
    learnt = Value(RIGHT, pair.better) >= 0.97
    claim = partial(Claim, text=text, estimand=pair, low=low, given=learnt)
    return claim() if source is None else claim(kind="stand-in", source=source, quote=quote)


ablation = Ablation(
    base=variants["recall-softmax"],
    variants=variants,
    seeds=8,
    first_seed=61,
    claims=(
        above(
            Difference(RIGHT, better="recall-softmax", worse="recall-linear"),
            0.2,
            "recall: softmax is above elu + 1",
            "Zhang et al. 2024, Table 2",
            "100.0 and 17.0",
        ),
        Claim(
            text="recall: the delta rule is above elu + 1",
            estimand=Difference(RIGHT, better="recall-delta", worse="recall-linear"),
            low=0.05,
            kind="stand-in",
            source="Schlag et al. 2021, section 6.1",
        ),
        Claim(
            text="recall: normalized sigmoids are at most 0.05 below softmax",
            estimand=Difference(RIGHT, better="recall-sigmoid", worse="recall-softmax"),
            low=-0.05,
            given=Value(RIGHT, "recall-softmax") >= 0.97,
            kind="stand-in",
            source="Ramapuram et al. 2024, abstract",
        ),
        above(
            Difference(RIGHT, better="recall-delta_to_2", worse="recall-delta"),
            0.2,
            "recall: strengths to 2 are above strengths to 1",
            None,
        ),
        above(
            Difference(BEYOND, better="parity-lstm", worse="parity-softmax"),
            0.2,
            "parity: beyond its lengths an LSTM is above softmax",
            "Deletang et al. 2023, Table 2",
            "100.0 and 52.0",
        ),
        above(
            Difference(BEYOND, better="parity-delta_to_2", worse="parity-delta"),
            0.2,
            "parity: beyond its lengths strengths to 2 are above strengths to 1",
            "Grazzi et al. 2024, theorem 1",
        ),
        above(
            Difference(BEYOND, better="induction-softmax", worse="induction-learned"),
            0.1,
            "induction: beyond its lengths rotary positions are above learned ones",
            "Gu and Dao 2023, Table 11, at 512 after 256",
            "83.6 and 58.6 %",
        ),
        above(
            Difference(BEYOND, better="induction-alibi", worse="induction-sinusoidal"),
            0.2,
            "induction: beyond its lengths ALiBi is above sinusoids",
            "Press et al. 2022, abstract",
        ),
        above(
            Difference(BEYOND, better="induction-stick_breaking", worse="induction-softmax"),
            0.2,
            "induction: beyond its lengths stick-breaking is above rotary positions",
            "Tan et al. 2024, abstract",
        ),
        above(
            Difference(BEYOND, better="induction-forgetting", worse="induction-softmax"),
            0.2,
            "induction: beyond its lengths a forget gate is above rotary positions",
            "Lin et al. 2025, abstract",
        ),
    ),
)
