"""Images of colored shapes, with captions, and the patches that each word of a caption names."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, perm
from typing import NamedTuple

import numpy as np

from attnjax.config.constraints import PositiveInt
from attnjax.data.corpus import Corpus, Example, build
from attnjax.data.generated.sequences import Generated
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import SPECIAL, WordVocabulary
from attnjax.errors import UserError

COLORS = {"red": (1.0, 0.1, 0.1), "green": (0.1, 0.9, 0.1), "blue": (0.2, 0.3, 1.0)}
COLORS |= {"yellow": (1.0, 0.9, 0.1)}
SIDE, CELL = 7, 8
"""Sides in pixels, of a shape and of a cell; a shape is at one of 2 x 2 positions in its cell."""
WORDS = ("a", "above", "left", "of")


def silhouettes() -> dict[str, np.ndarray]:
    """Return the pixels of each shape, booleans [SIDE, SIDE]."""
    y, x = np.abs(np.indices((SIDE, SIDE)) - SIDE // 2)
    down = np.arange(SIDE)[:, None]
    return {
        "square": np.ones((SIDE, SIDE), bool),
        "circle": x**2 + y**2 <= (SIDE / 2) ** 2,
        "triangle": 2 * x <= down,
        "cross": (x <= 1) | (y <= 1),
    }


class Shape(NamedTuple):
    """A colored shape in an image."""

    cell: int  # counted row by row
    shift: int  # its position in the cell, one of four
    color: str
    shape: str


@dataclass(frozen=True, kw_only=True)
class Shapes(Generated):
    """Images of a few colored shapes on a grid, and captions that name all of them.

    "a red circle above a blue square left of a green cross" names the shapes row by row; a shape is
    "above" the next one if that is in a later row, else "left of" it. The shapes of an image
    differ and no image occurs twice. Images are floats in [0, 1], [side, side, 3], with a side of
    8 `cells` pixels. The background grows lighter downwards and to the right, which tells a
    convolution with a small field where it is. The alignment of a color's and of a shape's name are
    the patches that the shape covers, in part or whole; other words have none.

    Attributes:
        cells: the number of cells in a row, and in a column, of the grid.
        fewest: the smallest number of shapes in an image; `most`: the largest.
        patch: the side in pixels of a patch, which one position of the model's encoder represents;
            patches are counted row by row.
    """

    cells: PositiveInt = 3
    fewest: PositiveInt = 2
    most: PositiveInt = 2
    patch: PositiveInt = 4

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        self._check()
        if vocabularies is None:
            words = (*SPECIAL, *WORDS, *COLORS, *silhouettes())
            vocabularies = Vocabularies(None, WordVocabulary(words))
        examples = [self._example(scene) for scene in self._scenes()]
        return build(self.in_splits(examples), vocabularies)

    def _check(self) -> None:
        cells, kinds = self.cells**2, len(COLORS) * len(silhouettes())
        if not self.fewest <= self.most <= min(cells, kinds):
            raise UserError(
                f"task.fewest <= task.most <= {min(cells, kinds)} must hold, for {cells} cells "
                f"and {kinds} kinds of shapes; got {self.fewest} and {self.most}"
            )
        if self.patch < 1 or self.cells * CELL % self.patch:
            raise UserError(
                f"task.patch must divide the image's {self.cells * CELL} pixels; got {self.patch}"
            )
        counts = range(self.fewest, self.most + 1)
        self.check_enough(
            (comb(cells, count) * perm(kinds, count) * 4**count for count in counts),
            "images",
            f"{self.fewest} to {self.most} shapes in {cells} cells",
        )

    def _scenes(self) -> list[tuple[Shape, ...]]:
        generator = self.generator
        kinds = [(color, shape) for color in COLORS for shape in silhouettes()]
        distinct: dict[tuple[Shape, ...], None] = {}
        while len(distinct) < self.count:
            number = generator.integers(self.fewest, self.most + 1)
            cells = np.sort(generator.permutation(self.cells**2)[:number])
            chosen = generator.permutation(len(kinds))[:number]
            shifts = generator.integers(4, size=number)
            scene = (
                Shape(int(cell), int(shift), *kinds[kind])
                for cell, shift, kind in zip(cells, shifts, chosen, strict=True)
            )
            distinct[tuple(scene)] = None
        return list(distinct)

    def _example(self, scene: Sequence[Shape]) -> Example:
        phrase = self._tell(scene)
        regions = tuple(self._region(shape) for _, shape in phrase)
        return Example(self.render(scene), " ".join(word for word, _ in phrase), regions)

    def render(self, scene: Sequence[Shape]) -> np.ndarray:
        """Draw the image of a scene, float32 [side, side, 3] in [0, 1]."""
        side = self.cells * CELL
        down, right = np.indices((side, side)) / side
        image = np.stack([0.8 * down, np.full_like(down, 0.1), 0.8 * right], -1)
        for shape in scene:
            image[self.pixels(shape)] = COLORS[shape.color]
        return image.astype(np.float32)

    def pixels(self, shape: Shape) -> np.ndarray:
        """Return the pixels of a shape in the image, booleans [side, side]."""
        covered = np.zeros((self.cells * CELL,) * 2, bool)
        (row, column), (down, right) = divmod(shape.cell, self.cells), divmod(shape.shift, 2)
        top, left = CELL * row + down, CELL * column + right
        covered[top : top + SIDE, left : left + SIDE] = silhouettes()[shape.shape]
        return covered

    def _region(self, shape: Shape | None) -> frozenset[int]:
        if shape is None:
            return frozenset()
        patches = self.cells * CELL // self.patch
        blocks = self.pixels(shape).reshape(patches, self.patch, patches, self.patch)
        return frozenset(np.flatnonzero(blocks.any((1, 3))).tolist())

    def _tell(self, scene: Sequence[Shape]) -> list[tuple[str, Shape | None]]:
        """Return the words of a scene's caption, each with the shape that it names, if any."""
        phrase: list[tuple[str, Shape | None]] = []
        for number, shape in enumerate(scene):
            if number:
                same_row = scene[number - 1].cell // self.cells == shape.cell // self.cells
                phrase += [("left", None), ("of", None)] if same_row else [("above", None)]
            phrase += [("a", None), (shape.color, shape), (shape.shape, shape)]
        return phrase
