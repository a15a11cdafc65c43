"""What a user can mend."""


class UserError(ValueError):
    """What was wanted and what came, in a sentence; the command line prints it and exits with 2."""


class NoCorpus(UserError):
    """A corpus that is not on this machine; what does not need it can still be told."""


class Interrupted(Exception):
    """Ctrl-C: everything is saved; the command line says how to resume and exits with 130."""
