"""The commands, a function and a file each. Each imports what it needs when it is called."""

from attnjax.cli.commands import (
    bench,
    check,
    checkpoints,
    compare,
    evaluate,
    experiments,
    import_model,
    inspect_data,
    parts,
    predict,
    prepare_data,
    record,
    rehearse,
    replay,
    report,
    results,
    run,
    show,
)

COMMANDS = {
    "list": experiments.experiments,
    "show": show.show,
    "rehearse": rehearse.rehearse,
    "data prepare": prepare_data.prepare_data,
    "data inspect": inspect_data.inspect_data,
    "run": run.run,
    "parts": parts.parts,
    "check": check.check,
    "report": report.report,
    "record": record.record,
    "results": results.results,
    "checkpoints": checkpoints.checkpoints,
    "evaluate": evaluate.evaluate,
    "predict": predict.predict,
    "compare": compare.compare,
    "replay": replay.replay,
    "import": import_model.import_model,
    "bench": bench.bench,
}
"""Every command by its word, in the order of `attnjax --help`."""

GROUPS = {
    "run experiments": ("list", "show", "run", "report"),
    "use trained runs": ("predict", "evaluate", "compare"),
    "change an experiment, write parts": ("parts", "check"),
    "bring data": ("data inspect", "data prepare"),
    "keep and share runs": ("checkpoints", "import", "record", "results"),
    "look deeper": ("replay", "rehearse", "bench"),
}
"""The commands by what one does with them, the first week's first."""
