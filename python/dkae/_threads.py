"""How many threads compute."""

from __future__ import annotations

import os

from . import _core
from ._base import check_number, shown
from ._core import get_threads

__all__ = ["get_threads", "set_threads"]

#: Where a number of threads is looked for. joblib's processes are told theirs by the second, so that several of them do
#: not ask for more cores than there are.
VARIABLES = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS")


#: As in the command; more is a slip of the pen.
_MOST = 1024


def set_threads(count: int) -> None:
    """Set how many threads compute from now on; results do not depend on it.

    0 is what is set at first: one thread per core, or the least of ``RAYON_NUM_THREADS`` and ``OMP_NUM_THREADS`` where
    the environment has them and that is fewer.

    Parameters
    ----------
    count : int
        The number of threads, at most 1024.
    """
    check_number("count", count, least=0, whole=True)
    if count > _MOST:
        raise ValueError(f"count: expected at most {_MOST} threads, found {shown(count)}")
    _core.set_threads(count)
    if count == 0:
        _core.set_threads(min([*_of_the_environment(), get_threads()]))


def _of_the_environment() -> list[int]:
    # OpenMP has a number for each level of nesting; the first is ours.
    values = [os.environ.get(name, "").split(",")[0].strip() for name in VARIABLES]
    return [int(value) for value in values if value.isdecimal() and int(value) > 0]


set_threads(0)
