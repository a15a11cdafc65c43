"""Does a Transformer of relative positions answer longer commands?  Csordás et al. 2021.

No records as of now: its 12 runs take some five hours of a core, by their FLOPs. SCAN's split
`length` trains on commands of up to 22 actions, and asks for more. Csordás et al. find that
networks which fail there answer all longer commands once training goes up to 26 actions, with
relative positions; with absolute ones they do not (abstract, in our words). `scan_transformer` asks
the same at 22.

Here all 20,910 commands are cut at 26: 18,286 train, of which 500 are held out, 2,624 test. Two
encoder and two decoder layers of width 128, 10,000 updates on 2,048 places, a cosine; Shaw's
relative vectors up to a distance of 16 stand in the place of sinusoids, where the paper has
Transformer-XL's. The paper trains 3 layers for 50,000 updates of 256 commands, so its figures are
not compared. Networks of this kind end at all right or far from it: the mean over seeds is judged,
and that most seeds of relative positions have 0.99.

    attnjax run csordas2021    # ATTNJAX_DATA names what scan is in
"""

import attnjax
from attnjax.attention import Attention, MultiHead, NoPosition, Relative, ScaledDot
from attnjax.data import ScanByActions
from attnjax.experiment import Ablation, Claim, Difference, SeedShare, Value, vary
from attnjax.training import Cosine

absolute = vary(
    attnjax.load("scan_transformer").ablation.base,
    {
        "task": ScanByActions(longest=26),
        "model.width": 128,
        "optimizer.schedule": Cosine(peak=1e-3, warmup=400, decay=9_600),
        "training.steps": 10_000,
    },
)
near = MultiHead(head=Attention(score=Relative(score=ScaledDot())), heads=4)
relative = vary(
    absolute,
    {
        "model.position": NoPosition(),
        "model.encoder_layer.self_attention": near,
        "model.decoder_layer.self_attention": near,
    },
)
abstract = "Csordás et al. 2021, abstract"

ablation = Ablation(
    base=absolute,
    variants={"absolute": absolute, "relative": relative},
    seeds=6,
    first_seed=31,
    claims=(
        Claim(
            text="relative positions: nine of ten longer commands right",
            estimand=Value("exact_match", "relative"),
            low=0.9,
            kind="reduced",
            source=abstract,
        ),
        Claim(
            text="relative positions: half of the seeds and more have 99 of 100 right",
            estimand=SeedShare("exact_match", "relative", least=0.99),
            low=0.5,
            kind="reduced",
            source=abstract,
        ),
        Claim(
            text="absolute positions: less than half right",
            estimand=Value("exact_match", "absolute"),
            high=0.5,
            given=Value("exact_match", "relative") >= 0.9,
            kind="reduced",
            source=abstract,
        ),
        Claim(
            text="relative positions beat absolute ones by 30 points",
            estimand=Difference("exact_match", better="relative", worse="absolute"),
            low=0.3,
            kind="reduced",
            source=abstract,
        ),
    ),
)
