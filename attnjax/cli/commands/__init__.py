"""The commands, a file each. Each imports what it needs when it is called."""

from attnjax.cli.command import Command
from attnjax.cli.commands import (
    bench,
    check,
    checkpoints,
    evaluate,
    experiments,
    import_model,
    parts,
    predict,
    rehearse,
    replay,
    report,
    run,
    show,
)

MODULES = (
    experiments,
    show,
    rehearse,
    run,
    parts,
    check,
    report,
    checkpoints,
    evaluate,
    predict,
    replay,
    import_model,
    bench,
)

COMMANDS: dict[str, Command] = {module.COMMAND.name: module.COMMAND for module in MODULES}
"""Every command by its name, in the order of `attnjax --help`."""
