/** Where nodes and arrows of a graph stand: x in nodes and y in layers become pixels. */
import type { GraphHeader, GraphNode } from "../../../protocol/types";

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

const [letter, tall, side, row, edge] = [7, 22, 10, 56, 12];
const least = 84;

/** A box for every node: rows are the layers that occur; as wide as the window allows, or wider where names need it. */
export function boxes(nodes: GraphNode[], width: number): { boxes: Box[]; width: number; height: number } {
  const levels = [...new Set(nodes.map(({ y }) => y))].sort((a, b) => b - a);
  const last = Math.max(1, ...nodes.map(({ x }) => x));
  const wide = nodes.map((node) => Math.max(40, letter * text(node).length + 2 * side));
  const step = Math.max(least / 1.8, closest(nodes, wide), (width - 2 * edge - Math.max(...wide)) / last);
  const reach = Math.max(...wide) / 2 + edge;
  const found = nodes.map((node, i) => ({ left: reach + node.x * step - wide[i] / 2, top: edge + levels.indexOf(node.y) * row, width: wide[i], height: tall }));
  return { boxes: found, width: Math.ceil(2 * reach + last * step), height: 2 * edge + (levels.length - 1) * row + tall };
}

/** The least step at which neighbours of a row do not touch. */
function closest(nodes: GraphNode[], wide: number[]): number {
  let step = 0;
  nodes.forEach((one, i) =>
    nodes.forEach((other, j) => {
      if (one.y === other.y && other.x > one.x) step = Math.max(step, ((wide[i] + wide[j]) / 2 + 10) / (other.x - one.x));
    }),
  );
  return step;
}

export const text = ({ name, token }: GraphNode): string => (token.trim() ? `${name} “${token.trim()}”` : name);

export interface Arrow {
  path: string;
  /** Where it says through which input it goes. */
  label: [number, number];
}

/** From a box to another, a little bent, so that arrows there and back part. */
export function arrow(from: Box, to: Box): Arrow {
  const middle = ({ left, top, width, height }: Box): [number, number] => [left + width / 2, top + height / 2];
  const [[x1, y1], [x2, y2]] = [onEdge(from, middle(to)), onEdge(to, middle(from))];
  // One that runs straight up would pass under the nodes between.
  const bend = Math.abs(x2 - x1) < 0.2 * Math.abs(y2 - y1) && Math.abs(y2 - y1) > row ? 0.35 : 0.06;
  const [bendX, bendY] = [(x1 + x2) / 2 - bend * (y2 - y1), (y1 + y2) / 2 + bend * (x2 - x1)];
  const fixed = (value: number) => value.toFixed(1);
  const at = 0.66;
  const along = (a: number, b: number, c: number) => (1 - at) ** 2 * a + 2 * at * (1 - at) * b + at ** 2 * c;
  return { path: `M${fixed(x1)} ${fixed(y1)}Q${fixed(bendX)} ${fixed(bendY)} ${fixed(x2)} ${fixed(y2)}`, label: [along(x1, bendX, x2), along(y1, bendY, y2)] };
}

/** Where the line from a box's middle to a point leaves the box. */
function onEdge({ left, top, width, height }: Box, [x, y]: [number, number]): [number, number] {
  const [midX, midY] = [left + width / 2, top + height / 2];
  const [dx, dy] = [x - midX, y - midY];
  const share = Math.min(dx ? width / 2 / Math.abs(dx) : Infinity, dy ? height / 2 / Math.abs(dy) : Infinity);
  return Number.isFinite(share) ? [midX + dx * share, midY + dy * share] : [midX, midY];
}

/** The nodes on paths into or out of a node, itself included. */
export function joined({ nodes, links }: Pick<GraphHeader, "nodes" | "links">, at: number): Set<number> {
  const found = new Set([at]);
  for (const [from, to] of [["source", "target"], ["target", "source"]] as const) {
    const waiting = [at];
    const seen = new Set(waiting);
    while (waiting.length) {
      const here = waiting.pop()!;
      for (const link of links) {
        if (link[from] !== here || seen.has(link[to])) continue;
        seen.add(link[to]);
        waiting.push(link[to]);
      }
    }
    seen.forEach((each) => each < nodes.length && found.add(each));
  }
  return found;
}
