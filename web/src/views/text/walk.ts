/** Arrow keys through the text: word by word, line by line. */
import type { Layout } from "./layout";
import type { Piece } from "./pieces";
import type { Side } from "./weights";

/** The piece a key leads to, or null for another key. Only words of the selected side count. */
export function moved(key: string, from: number, pieces: Piece[], layout: Layout, side: Side, mirrored: boolean): number | null {
  const onward = mirrored ? "ArrowLeft" : "ArrowRight";
  const back = mirrored ? "ArrowRight" : "ArrowLeft";
  const nearest = (start: number, by: number) => {
    for (let at = start; at >= 0 && at < pieces.length; at += by) if (pieces[at][side] >= 0) return at;
    return from;
  };
  if (key === "Home") return nearest(0, 1);
  if (key === "End") return nearest(pieces.length - 1, -1);
  if (from < 0) return [onward, back, "ArrowUp", "ArrowDown"].includes(key) ? nearest(0, 1) : null;
  if (key === onward) return nearest(from + 1, 1);
  if (key === back) return nearest(from - 1, -1);
  if (key !== "ArrowUp" && key !== "ArrowDown") return null;
  const by = key === "ArrowDown" ? 1 : -1;
  const middle = layout.x[from] + layout.width[from] / 2;
  for (let number = layout.line[from] + by; number >= 0 && number < layout.lines.length; number += by) {
    const { start, end } = layout.lines[number];
    let best = -1;
    for (let at = start; at < end; at++) {
      const away = Math.abs(layout.x[at] + layout.width[at] / 2 - middle);
      if (pieces[at][side] >= 0 && (best < 0 || away < Math.abs(layout.x[best] + layout.width[best] / 2 - middle))) best = at;
    }
    if (best >= 0) return best;
  }
  return from;
}
