/** Layers × heads as a grid of coloured buttons: the head map, in a view of its own and in the app's side. */
import type { Label } from "../../protocol/types";
import { make } from "../../render/dom";
import { css } from "../../render/oklch";
import type { Rgb } from "../../render/oklch";
import { at, inkOn } from "../../render/scales";

export interface GridOptions {
  layers: number[];
  heads: number;
  values: Float32Array;
  range: [number, number];
  ramp: Rgb[];
  /** Side of a cell in pixels; numbers are written from 34 up. */
  size: number;
  label(layer: number, head: number): Label | null;
  off?(layer: number, head: number): boolean;
  /** Share of the most important head, ringed from 0 up. */
  ring?(layer: number, head: number): number;
}

export function headGrid(options: GridOptions): HTMLElement {
  const { layers, heads, values, range, ramp, size } = options;
  const grid = make("div", { class: "hm-grid", role: "group", "aria-label": "Layers by heads" });
  grid.style.gridTemplateColumns = `22px repeat(${heads}, ${size}px)`;
  grid.style.gridAutoRows = `${size}px`;
  grid.append(make("span", { class: "hm-name" }));
  for (let head = 0; head < heads; head++) grid.append(make("span", { class: "hm-name" }, String(head)));
  layers.forEach((layer, row) => {
    grid.append(make("span", { class: "hm-name" }, String(layer)));
    for (let head = 0; head < heads; head++) {
      const value = values[row * heads + head];
      const label = options.label(layer, head);
      const colour = Number.isNaN(value) ? null : at(ramp, share(value, range));
      const cell = make("button", {
        class: ["hm-cell", label ? "labelled" : "", options.off?.(layer, head) ? "off" : ""].join(" ").trim(),
        "data-map": `${layer}-${head}`,
        "data-value": value,
        "data-ink": colour ? inkOn(colour) : "dark",
        tabindex: -1,
        "aria-label": `Layer ${layer}, head ${head}: ${Number.isNaN(value) ? "not measured" : short(value)}${label ? `, ${label.text}` : ""}`,
      });
      const ring = options.ring?.(layer, head) ?? 0;
      if (ring > 0) {
        cell.classList.add("ringed");
        cell.style.setProperty("--ring", `${(1 + 2 * ring).toFixed(1)}px`);
      }
      if (colour) cell.style.background = css(colour);
      if (size >= 34 && !Number.isNaN(value)) cell.textContent = short(value);
      grid.append(cell);
    }
  });
  return grid;
}

const short = (value: number) => (Math.abs(value) < 10 ? value.toFixed(2) : value.toFixed(0));

export function share(value: number, [low, high]: [number, number]): number {
  return high > low ? (value - low) / (high - low) : 0.5;
}

/** The ends of the colour scale: those given, else the data's; a diverging scale is even about zero. */
export function rangeOf(values: Float32Array, scale: "sequential" | "diverging", given?: [number, number]): [number, number] {
  if (given) return given;
  const known = [...values].filter((value) => Number.isFinite(value));
  if (!known.length) return [0, 1];
  const [low, high] = [Math.min(...known), Math.max(...known)];
  if (scale === "diverging") {
    const end = Math.max(Math.abs(low), Math.abs(high)) || 1;
    return [-end, end];
  }
  return low >= 0 && low < 0.3 * high ? [0, high] : [low, high];
}

export function cellAt(event: Event): [number, number] | null {
  const cell = (event.target as Element).closest<HTMLElement>("[data-map]");
  if (!cell) return null;
  const [layer, head] = cell.dataset["map"]!.split("-").map(Number);
  return [layer, head];
}

/** The open head is framed, and is the one the Tab key reaches. */
export function markOpen(grid: HTMLElement, layer: number, head: number): void {
  for (const cell of grid.querySelectorAll<HTMLElement>("[data-map]")) {
    const open = cell.dataset["map"] === `${layer}-${head}`;
    cell.classList.toggle("open", open);
    cell.tabIndex = open ? 0 : -1;
  }
  if (!grid.querySelector(".open")) grid.querySelector<HTMLElement>("[data-map]")?.setAttribute("tabindex", "0");
}
