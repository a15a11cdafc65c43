"""The commands, a function and a file each. Each imports what it needs when it is called."""

from attnjax.lab.cli.commands import (
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
    report,
    results,
    run,
    show,
)

GROUPS = {
    "run experiments": {
        "list": experiments.experiments,
        "show": show.show,
        "run": run.run,
        "report": report.report,
    },
    "use trained runs": {
        "predict": predict.predict,
        "evaluate": evaluate.evaluate,
        "compare": compare.compare,
    },
    "change an experiment, write parts": {"parts": parts.parts, "check": check.check},
    "bring data": {
        "data inspect": inspect_data.inspect_data,
        "data prepare": prepare_data.prepare_data,
    },
    "keep and share runs": {
        "checkpoints": checkpoints.checkpoints,
        "import": import_model.import_model,
        "record": record.record,
        "results": results.results,
    },
    "look deeper": {"rehearse": rehearse.rehearse},
}
"""The commands by their use, those of the first week first."""
