"""A progress bar of one line, for terminals and notebooks."""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
from typing import Any

#: Cells of the bar, at most.
_WIDTH = 24
#: Seconds between two drawings.
_PAUSE = 0.1


def _in_notebook() -> bool:
    # Jupyter's shell and Colab's have a kernel that runs them; that of a terminal has none.
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    return getattr(shell, "kernel", None) is not None


class ProgressBar:
    """Shows the phase, the step and both losses.

    In a terminal the line goes to the error stream, is written over and never wider than the window. In a notebook it
    is a display that is replaced, so that a saved notebook has its last state only. Elsewhere (a log file) each phase
    is one line. Without an error stream (a program without a console) nothing is shown.
    """

    def __init__(self) -> None:
        self.notebook = _in_notebook()
        self.display: Any = None
        self.finished = ""
        self.stream: Any = sys.stderr
        self.live = self.stream is not None and self.stream.isatty()
        self.began = time.monotonic()
        self.drawn = -math.inf
        self.length = 0
        self.full, self.empty = "█", "·"
        try:
            (self.full + self.empty).encode(getattr(self.stream, "encoding", None) or "ascii")
        except UnicodeError:
            self.full, self.empty = "#", "."

    def tell(self, what: str, done: int = 0, total: int = 0) -> None:
        """Draws what is done before training."""
        if self._is_time(False):
            self._draw(f"{what} {done}/{total}" if total else what, False)

    def show(self, phase: str, step: int, steps: int, reconstruction: float, code: float) -> None:
        """Draws the state after a step; the last step of a phase ends the line."""
        done = step >= steps
        if not self._is_time(done):
            return
        seconds = int(time.monotonic() - self.began)
        losses = f"L_r {reconstruction:.5f}" + ("" if math.isnan(code) else f"  L_c {code:.4f}")
        before, after = f"{phase:<24} ", f" {step}/{steps}  {losses}  {seconds // 60}:{seconds % 60:02}"
        cells = _WIDTH
        if self.live and not self.notebook:
            cells = min(_WIDTH, self._columns() - len(before) - len(after) - 2)
            if cells < 4:
                before, cells = f"{phase} ", 0
        filled = cells * step // max(steps, 1)
        bar = f"|{self.full * filled}{self.empty * (cells - filled)}|" if cells else ""
        self._draw(before + bar + after, done)

    def _is_time(self, done: bool) -> bool:
        """Whether to draw now: not at every step, but the end of a phase."""
        now = time.monotonic()
        if not done and now - self.drawn < _PAUSE:
            return False
        # The first step of the next phase is drawn at once.
        self.drawn = -math.inf if done else now
        return True

    def _columns(self) -> int:
        # One less than the window has: in its last column some terminals begin another line.
        try:
            columns = os.get_terminal_size(self.stream.fileno()).columns
        except (AttributeError, OSError, ValueError):
            columns = 0
        return (columns or shutil.get_terminal_size().columns) - 1

    def _draw(self, line: str, done: bool) -> None:
        if self.notebook:
            text = _text(self.finished + line)
            if self.display is None:
                from IPython.display import display

                self.display = display(text, raw=True, display_id=True)
            else:
                self.display.update(text, raw=True)
            if done:
                self.finished += line + "\n"
        elif self.live:
            line = line[: self._columns()]
            # Blanks wipe what a longer line before left behind.
            padded = line.ljust(min(self.length, self._columns()))
            self.length = 0 if done else len(line)
            self.stream.write("\r" + padded + ("\n" if done else ""))
            self.stream.flush()
        elif done and self.stream is not None:
            print(line, file=self.stream)

    def close(self) -> None:
        """Ends a line that is still open."""
        if self.length:
            self.stream.write("\n")
            self.stream.flush()
            self.length = 0


def _text(text: str) -> dict[str, str]:
    return {"text/plain": text}
