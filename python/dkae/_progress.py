"""A progress bar of one line, for terminals and notebooks."""

from __future__ import annotations

import sys
import time
from typing import Any

_WIDTH = 24


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    kernel = shell.get_ipython() if shell is not None else None
    return type(kernel).__name__ == "ZMQInteractiveShell"


class ProgressBar:
    """Shows the phase, the step and both losses.

    In a terminal the line goes to the error stream and is written over. In a notebook it is a display that is
    replaced, so that a saved notebook has its last state only. Elsewhere (a log file) each phase is one line.
    """

    def __init__(self) -> None:
        self.display: Any = None
        if _in_notebook():
            from IPython.display import display

            self.display = display(_text("fitting the kernel"), raw=True, display_id=True)
        self.finished = ""
        self.live = sys.stderr.isatty()
        self.began = time.monotonic()
        self.length = 0
        if self.live and self.display is None:
            self._write_over("fitting the kernel", False)

    def show(self, phase: str, step: int, steps: int, reconstruction: float, code: float) -> None:
        """Draws the state after a step; the last step of a phase ends the line."""
        done = step >= steps
        filled = _WIDTH * step // max(steps, 1)
        seconds = int(time.monotonic() - self.began)
        line = (
            f"{phase:<24} |{'█' * filled}{'·' * (_WIDTH - filled)}| {step}/{steps}  "
            f"L_r {reconstruction:.5f}  L_c {code:.4f}  {seconds // 60}:{seconds % 60:02}"
        )
        if self.display is not None:
            self.display.update(_text(self.finished + line), raw=True)
            if done:
                self.finished += line + "\n"
        elif self.live:
            self._write_over(line, done)
        elif done:
            print(line, file=sys.stderr)

    def _write_over(self, line: str, done: bool) -> None:
        # Blanks wipe what a longer line before left behind.
        padded = line.ljust(self.length)
        self.length = 0 if done else len(line)
        sys.stderr.write("\r" + padded + ("\n" if done else ""))
        sys.stderr.flush()

    def close(self) -> None:
        """Ends a line that is still open."""
        if self.length:
            sys.stderr.write("\n")
            sys.stderr.flush()
            self.length = 0


def _text(text: str) -> dict[str, str]:
    return {"text/plain": text}
