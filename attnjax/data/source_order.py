"""In which order a source's words are read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SourceOrder:
    """What every order is."""

    def __call__[S](self, symbols: list[S]) -> list[S]:
        """A source's symbols, without END, as a model reads them."""
        raise NotImplementedError


@dataclass(frozen=True)
class Forward(SourceOrder):
    """From the first word to the last."""

    def __call__[S](self, symbols: list[S]) -> list[S]:
        return symbols


@dataclass(frozen=True)
class Reversed(SourceOrder):
    """From the last word to the first, so that the first ones are close to their translation.

    Source: Sutskever et al. 2014, section 3.3.
    """

    def __call__[S](self, symbols: list[S]) -> list[S]:
        return symbols[::-1]
