"""A canvas of braille characters: each has two dots beside and four above each other."""

from __future__ import annotations

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLANK = 0x2800


class Canvas:
    """Dots, counted from the lower left corner."""

    def __init__(self, columns: int, rows: int) -> None:
        self.width = columns * 2
        self.height = rows * 4
        self._rows = rows
        self._cells = [[0] * columns for _ in range(rows)]

    def dot(self, x: int, y: int) -> None:
        """Set one dot."""
        down = self.height - 1 - y
        self._cells[down // 4][x // 2] |= _DOTS[down % 4][x % 2]

    def line(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Set the dots between two, both of them included."""
        (x, y), (to_x, to_y) = start, end
        steps = max(abs(to_x - x), abs(to_y - y), 1)
        for at in range(steps + 1):
            # In whole numbers, so that it is the same everywhere; halves go up.
            self.dot(x + (2 * at * (to_x - x) + steps) // (2 * steps), y + (2 * at * (to_y - y) + steps) // (2 * steps))

    def column(self, x: int, height: int) -> None:
        """Set the lowest dots of one column."""
        for y in range(height):
            self.dot(x, y)

    def rows(self) -> list[str]:
        """The characters, from above. What is empty is a space, which every font has."""
        return ["".join(chr(_BLANK + cell) if cell else " " for cell in row) for row in self._cells]
