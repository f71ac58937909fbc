"""A progress bar of one line, for terminals and notebooks."""

from __future__ import annotations

import sys
import time

_WIDTH = 24


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    kernel = shell.get_ipython() if shell is not None else None
    return type(kernel).__name__ == "ZMQInteractiveShell"


class ProgressBar:
    """Shows the phase, the step and both losses.

    In a terminal the line goes to the error stream and is written over; so it is in a notebook, on the output stream,
    which notebooks show without alarm. Elsewhere (a log file) each phase is one line.
    """

    def __init__(self) -> None:
        self.notebook = _in_notebook()
        self.stream = sys.stdout if self.notebook else sys.stderr
        self.live = self.notebook or self.stream.isatty()
        self.began = time.monotonic()
        self.length = 0

    def show(self, phase: str, step: int, steps: int, reconstruction: float, code: float) -> None:
        """Draws the state after a step; the last step of a phase ends the line."""
        done = step >= steps
        if not self.live and not done:
            return
        filled = _WIDTH * step // max(steps, 1)
        seconds = int(time.monotonic() - self.began)
        line = (
            f"{phase:<24} |{'█' * filled}{'·' * (_WIDTH - filled)}| {step}/{steps}  "
            f"L_r {reconstruction:.5f}  L_c {code:.4f}  {seconds // 60}:{seconds % 60:02}"
        )
        # Blanks wipe what a longer line before left behind.
        padded = line.ljust(self.length)
        self.length = 0 if done else len(line)
        self.stream.write(("\r" if self.live else "") + padded + ("\n" if done else ""))
        self.stream.flush()

    def close(self) -> None:
        """Ends a line that is still open."""
        if self.length:
            self.stream.write("\n")
            self.stream.flush()
            self.length = 0
