"""The attention of a finished run to more test sentences than it has kept."""

from pathlib import Path

from attnjax.config.serialize import parse_json, to_json
from attnjax.evaluation.attention_record import attention_record
from attnjax.lab.runs.data_digests import check_run
from attnjax.lab.runs.json_files import write_json
from attnjax.lab.runs.run_folder import ATTENTION, result, write_result
from attnjax.lab.trained.trained_run import open_trained


def keep_attention(folder: Path, count: int, *, trust: bool = False) -> None:
    """Let a finished run's attention.json have `count` sentences at the least, if there are."""
    path, kept = folder / ATTENTION, result(folder, {})
    if kept is None:
        return
    has = len(parse_json(path.read_text(encoding="utf-8"))) if path.exists() else 0
    if has < count:
        trained = open_trained(folder, trust=trust)
        corpus = trained.experiment.task.load(trained.vocabularies)
        check_run(folder, corpus)
        if recorded := attention_record(trained.inputs(corpus), count):
            # a kill between the files leaves weights of no digest, not those of another one
            write_result(folder, kept, being_replaced=(ATTENTION,))
            write_json(path, to_json(recorded))
    elif kept.files.get(ATTENTION):
        return
    write_result(folder, kept)
