/** Token names along both axes of a map; where there is no room for all, evenly spaced ones. */
import type { Unit } from "../../protocol/units";
import type { Cut } from "../../render/crops";
import { visible } from "../../render/dom";
import { textWidth } from "../../render/text";
import type { Window } from "./window";

/** In the corner of a map that is zoomed in: the whole, and the part that is in sight. */
export function overviewMark(context: CanvasRenderingContext2D, window: Window, columns: number, rows: number, plot: Plot, style: CSSStyleDeclaration): void {
  if (window.width >= columns && window.height >= rows) return;
  const side = Math.min(40, plot.x - 10, plot.y - 10);
  const [wide, tall] = columns >= rows ? [side, (side * rows) / columns] : [(side * columns) / rows, side];
  context.strokeStyle = style.getPropertyValue("--faint");
  context.strokeRect(4.5, 4.5, wide, tall);
  context.fillStyle = style.getPropertyValue("--accent");
  context.fillRect(
    4.5 + (wide * window.x) / columns,
    4.5 + (tall * window.y) / rows,
    Math.max(2, (wide * window.width) / columns),
    Math.max(2, (tall * window.height) / rows),
  );
}

export interface Plot {
  x: number;
  y: number;
  width: number;
  height: number;
}

const size = 12;
const [smallestCrop, cropRoom] = [6, 22];

export function labelRoom(query: Unit[], key: Unit[], crops: boolean): { left: number; top: number } {
  const more = crops ? cropRoom : 0;
  const longest = (units: Unit[]) =>
    [...new Set(units.map((unit) => unit.text))].sort((a, b) => b.length - a.length).slice(0, 20).reduce((most, text) => Math.max(most, textWidth(text, size)), 0);
  return { left: Math.min(150, longest(query) + 14) + more, top: Math.min(110, longest(key) * 0.78 + 16) + more };
}

export function axisLabels(
  context: CanvasRenderingContext2D,
  query: Unit[],
  key: Unit[],
  window: Window,
  plot: Plot,
  style: CSSStyleDeclaration,
  hand: [number, number],
  cut: Cut | null,
): void {
  const [ink, quiet, accent] = ["--ink", "--quiet", "--accent"].map((name) => style.getPropertyValue(name));
  const [sizeX, sizeY] = [plot.width / window.width, plot.height / window.height];
  const family = style.fontFamily;
  const paint = (unit: Unit, chosen: boolean) => {
    context.fillStyle = chosen ? accent : unit.special || unit.class === 3 ? quiet : ink;
    context.font = `${chosen ? "600 " : ""}${unit.special ? 11 : size}px ${family}`;
  };
  const every = (cell: number, room: number) => Math.max(1, Math.ceil(room / cell));
  const inSight = (units: Unit[], from: number, span: number, cell: number, chosen: number, room: number) => {
    const step = every(cell, room);
    const shown: number[] = [];
    for (let i = Math.max(0, Math.ceil(from - 0.5)); i < Math.min(units.length, from + span); i++) {
      const near = chosen >= 0 && i !== chosen && Math.abs(i - chosen) * cell < room;
      if ((i % step === 0 && !near) || i === chosen) shown.push(i);
    }
    return shown;
  };
  // Patches stand between their names and the map, where a cell has room for one.
  const crop = cut && Math.min(sizeX, sizeY) >= smallestCrop ? Math.min(sizeX, sizeY, cropRoom) - 1 : 0;
  const [left, top] = [plot.x - 3 - crop, plot.y - 3 - crop];
  if (crop) {
    for (const i of inSight(query, window.y, window.height, 1, -1, 1)) cut!(context, "query", query[i].start, left, plot.y + (i - window.y + 0.5) * sizeY - crop / 2, crop);
    for (const j of inSight(key, window.x, window.width, 1, -1, 1)) cut!(context, "key", key[j].start, plot.x + (j - window.x + 0.5) * sizeX - crop / 2, top, crop);
  }
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const i of inSight(query, window.y, window.height, sizeY, hand[0], 13)) {
    paint(query[i], i === hand[0]);
    context.fillText(shortened(query[i].text), left - 4, plot.y + (i - window.y + 0.5) * sizeY);
  }
  context.textAlign = "left";
  for (const j of inSight(key, window.x, window.width, sizeX, hand[1], 16)) {
    paint(key[j], j === hand[1]);
    context.save();
    context.translate(plot.x + (j - window.x + 0.5) * sizeX, top - 3);
    context.rotate(-Math.PI / 3.4);
    context.fillText(shortened(key[j].text), 0, 0);
    context.restore();
  }
}

function shortened(text: string): string {
  const shown = visible(text);
  return shown.length > 18 ? `${shown.slice(0, 17)}…` : shown;
}
