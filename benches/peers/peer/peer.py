"""The peers' side of the benchmark: one work, taking turns with the others.

Started by the driver as `python peer.py WORK SETTINGS`, with the settings of the work as JSON. Says `ready` when the data are
loaded; then every line on the standard input is a turn, answered by one line of JSON (src/turns.rs).
"""
import importlib
import json
import sys


def peak_mb():
    """Peak memory of this process, in MB."""
    with open("/proc/self/status") as status:
        line = next(l for l in status if l.startswith("VmHWM:"))
    return 1.024e-3 * float(line.split()[1])


class Settings:
    """Settings as attributes."""

    def __init__(self, values):
        self.__dict__.update({name.replace("-", "_"): Settings(v) if isinstance(v, dict) else v for name, v in values.items()})


def main():
    work, settings = sys.argv[1], Settings(json.loads(sys.argv[2]))
    turn = importlib.import_module(f"{work}_peer").prepare(settings)
    print("ready", flush=True)
    for _ in sys.stdin:
        seconds, value = turn()
        print(json.dumps(dict(seconds=seconds, peak_mb=peak_mb(), value=value)), flush=True)


if __name__ == "__main__":
    main()
