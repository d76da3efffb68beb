/** Along the lower and right edge of a map: which span of a conversation its keys and queries belong to. */
import type { Group } from "../../protocol/spans";
import { visible, weightText } from "../../render/dom";
import { textWidth } from "../../render/text";
import type { Plot } from "./axes";
import type { Window } from "./window";

export const bandRoom = 22;
const [size, away] = [11, 5];

export function spanBands(
  context: CanvasRenderingContext2D,
  spans: { query: Group[]; key: Group[] },
  sums: Map<string, number>,
  window: Window,
  plot: Plot,
  style: CSSStyleDeclaration,
): void {
  context.save();
  context.font = `${size}px ${style.fontFamily}`;
  context.textAlign = "center";
  context.textBaseline = "top";
  context.fillStyle = style.getPropertyValue("--quiet");
  // Along the map's edge: where a group begins and ends in sight, and its name as far as there is room.
  const along = (groups: Group[], from: number, seen: number, length: number, after: (name: string) => string) => {
    for (const { name, start, end } of groups) {
      const [first, last] = [Math.max(0, ((start - from) * length) / seen), Math.min(length, ((end - from) * length) / seen)];
      if (last - first < 2) continue;
      context.fillRect(first + 0.5, away, last - first - 1, 1.5);
      const written = fitting(visible(name), after(name), last - first - 4);
      if (written) context.fillText(written, (first + last) / 2, away + 4);
    }
  };
  context.translate(plot.x, plot.y + plot.height);
  along(spans.key, window.x, window.width, plot.width, (name) => `  ${weightText(sums.get(name) ?? 0)}`);
  // Downwards at the right: turned, so that what is below the line lies to its left.
  context.translate(plot.width + bandRoom + away, -plot.height);
  context.rotate(Math.PI / 2);
  along(spans.query, window.y, window.height, plot.height, () => "");
  context.restore();
}

/** The name with its number; with less room a shorter name, then the number or nothing. */
function fitting(name: string, after: string, room: number): string {
  for (let length = name.length; length > 2; length--) {
    const text = `${length < name.length ? `${name.slice(0, length)}…` : name}${after}`;
    if (textWidth(text, size) <= room) return text;
  }
  return textWidth(after.trim(), size) <= room ? after.trim() : "";
}
