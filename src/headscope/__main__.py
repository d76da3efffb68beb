"""`python -m headscope` is the command `headscope`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run a command; Ctrl-C while it still loads prints its sentence too."""
    try:
        from headscope.cli import main as command

        command()
    except KeyboardInterrupt:
        sys.stderr.write("headscope: Stopped.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
