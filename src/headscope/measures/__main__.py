"""Print the documentation page of all measures."""

import sys

from headscope.measures.page import page

if __name__ == "__main__":
    sys.stdout.write(page())
