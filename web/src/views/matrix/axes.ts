/** Token names along both axes of a map; where there is no room for all, evenly spaced ones. */
import type { Unit } from "../../protocol/units";
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

export function labelRoom(query: Unit[], key: Unit[]): { left: number; top: number } {
  const longest = (units: Unit[]) =>
    [...new Set(units.map((unit) => unit.text))].sort((a, b) => b.length - a.length).slice(0, 20).reduce((most, text) => Math.max(most, textWidth(text, size)), 0);
  return { left: Math.min(150, longest(query) + 14), top: Math.min(110, longest(key) * 0.78 + 16) };
}

export function axisLabels(
  context: CanvasRenderingContext2D,
  query: Unit[],
  key: Unit[],
  window: Window,
  plot: Plot,
  style: CSSStyleDeclaration,
  hand: [number, number],
): void {
  const [ink, quiet, accent] = ["--ink", "--quiet", "--accent"].map((name) => style.getPropertyValue(name));
  const [sizeX, sizeY] = [plot.width / window.width, plot.height / window.height];
  const family = style.fontFamily;
  const paint = (unit: Unit, chosen: boolean) => {
    context.fillStyle = chosen ? accent : unit.special || unit.class === 3 ? quiet : ink;
    context.font = `${chosen ? "600 " : ""}${unit.special ? size - 2 : size}px ${family}`;
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
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const i of inSight(query, window.y, window.height, sizeY, hand[0], 13)) {
    paint(query[i], i === hand[0]);
    context.fillText(shortened(query[i].text), plot.x - 7, plot.y + (i - window.y + 0.5) * sizeY);
  }
  context.textAlign = "left";
  for (const j of inSight(key, window.x, window.width, sizeX, hand[1], 16)) {
    paint(key[j], j === hand[1]);
    context.save();
    context.translate(plot.x + (j - window.x + 0.5) * sizeX, plot.y - 6);
    context.rotate(-Math.PI / 3.4);
    context.fillText(shortened(key[j].text), 0, 0);
    context.restore();
  }
}

function shortened(text: string): string {
  const shown = visible(text);
  return shown.length > 18 ? `${shown.slice(0, 17)}…` : shown;
}
