"""Count import cycles in headscope, imports inside functions included; exits 1 where there is one.

Imports that only type checkers see do not count: they never run.
"""

from __future__ import annotations

import sys

import grimp
import networkx


def cycles() -> list[list[str]]:
    """Modules that import each other, directly or through others, a list for each knot of them."""
    graph = grimp.build_graph("headscope", exclude_type_checking_imports=True, cache_dir=None)
    imports = networkx.DiGraph()
    for module in graph.modules:
        imports.add_edges_from(
            (module, other) for other in graph.find_modules_directly_imported_by(module)
        )
    knots = networkx.strongly_connected_components(imports)
    return sorted(sorted(knot) for knot in knots if len(knot) > 1)


if __name__ == "__main__":
    found = cycles()
    sys.stdout.writelines(" ↔ ".join(knot) + "\n" for knot in found)
    sys.stdout.write(f"{len(found)} import cycles\n")
    sys.exit(bool(found))
