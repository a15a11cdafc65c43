"""Which checkpoints are kept: what a resume and the result need is never deleted."""

from hypothesis import given, strategies as st

from attnjax.lab.checkpoints.retention import epoch_ends, reasons
from attnjax.lab.checkpoints.snapshot import RunProgress
from attnjax.training.settings import Training

PER_EPOCH = 4


def result_steps(saved: dict[int, RunProgress], training: Training) -> list[int]:
    return epoch_ends(saved, training.result)[: training.average]


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[int, RunProgress]]:
    """Return all checkpoints that a training saved: ends of epochs, and some steps within them."""
    last = draw(st.integers(1, 40))
    steps = {step for step in range(1, last) if not step % PER_EPOCH or draw(st.booleans())}
    losses = st.floats(0.1, 10, allow_subnormal=False)
    return [
        (
            step,
            RunProgress(
                epoch_end=not step % PER_EPOCH,
                loss=draw(losses) if not step % PER_EPOCH or step == last else None,
                stopped="steps" if step == last else None,
            ),
        )
        for step in sorted(steps | {last})
    ]


trainings = st.builds(
    Training,
    average=st.integers(1, 4),
    result=st.sampled_from(["last", "best"]),
    keep_last=st.integers(1, 4),
    keep_best=st.integers(0, 4),
)


@given(histories(), trainings)
def test_deleting_on_the_way_loses_nothing_of_the_end(history, training):
    saved: dict[int, RunProgress] = {}
    for step, progress in history:
        saved[step] = progress
        why = reasons(saved, training)
        assert why[step], "the latest is kept"
        if not progress.stopped and len(saved) > 1:
            assert why[max(saved.keys() - {step})], "so is the one before it"
        saved = {step: saved[step] for step, reasons in why.items() if reasons}
    everything = dict(history)
    assert result_steps(saved, training) == result_steps(everything, training)
    whole = {step: one for step, one in everything.items() if one.epoch_end}
    assert {*epoch_ends(everything, "last")[: training.keep_last]} <= saved.keys()
    assert {*epoch_ends(whole, "best")[: training.keep_best]} <= saved.keys()


@given(histories(), trainings, st.integers(1, 10))
def test_a_lengthened_training_has_the_result_of_the_longer_one(history, training, more):
    short, last = {}, history[-1][0]
    for step, progress in history:
        short[step] = progress
        short = {step: short[step] for step, why in reasons(short, training).items() if why}
    # the longer training saves the last step only if it ends an epoch
    long = {step: one for step, one in history if step != last or one.epoch_end}
    ends = [step for step in range(last + 1, last + more + 1) if not step % PER_EPOCH]
    coming = {step: RunProgress(epoch_end=True, loss=1 / step) for step in ends}
    coming[last + more] = RunProgress(
        loss=2.0, epoch_end=not (last + more) % PER_EPOCH, stopped="steps"
    )
    assert result_steps(short | coming, training) == result_steps(long | coming, training)


def test_of_equal_losses_the_earlier_is_better_and_no_loss_is_the_worst():
    saved = {
        step: RunProgress(epoch_end=True, loss=loss)
        for step, loss in {4: None, 8: 2.0, 12: 1.0, 16: 1.0}.items()
    }
    assert epoch_ends(saved, "best") == [12, 16, 8, 4]
    assert epoch_ends(saved, "last") == [16, 12, 8, 4]


def test_the_reasons_are_said():
    saved = {
        4: RunProgress(epoch_end=True, loss=1.0),
        8: RunProgress(epoch_end=True, loss=3.0),
        12: RunProgress(epoch_end=True, loss=2.0),
        14: RunProgress(),
    }
    assert reasons(saved, Training(result="best")) == {
        4: ["best epoch", "result"],
        8: [],
        12: ["in case the latest is damaged", "last epoch"],
        14: ["latest"],
    }
    averaged = reasons(saved, Training(result="best", average=2))
    assert [step for step, why in averaged.items() if "result" in why] == [4, 12]
    assert reasons({}, Training()) == {}
