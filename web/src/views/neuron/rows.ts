/** Elements over the neuron view's picture: query tokens to choose from, and a row a key for pointer and screen reader. */
import { make, valueText, visible, weightText } from "../../render/dom";
import type { Scene } from "./draw";

interface Events {
  look(query: number | null): void;
  pin(query: number): void;
  /** Pointer over a key's row at content x; row -1: gone. */
  point(row: number, x: number, event: MouseEvent | null): void;
  /** The keyboard is on a key's row; neuron -1: on the row as a whole. */
  walk(row: number, neuron: number): void;
}

export class NeuronRows {
  readonly element = make("div", { class: "nv-rows", role: "group" });
  private readonly keys = make("div", { role: "listbox", tabindex: 0, "aria-label": "From q and k to the weight, key by key" });
  private readonly queries = make("div", { role: "listbox", "aria-label": "Query tokens", tabindex: 0 });
  private length = 0;
  private scene: Scene | null = null;
  private shown = "";

  constructor(events: Events) {
    this.element.append(this.queries, this.keys);
    let at = { row: -1, neuron: -1 };
    this.keys.addEventListener("keydown", (event) => {
      const step = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
      if (!step || !this.scene) return;
      event.preventDefault();
      event.stopPropagation();
      const { units, strips } = this.scene;
      at = {
        row: Math.max(0, Math.min(units.key.length - 1, at.row + step[0])),
        neuron: Math.max(-1, Math.min(strips.dim - 1, at.neuron + step[1])),
      };
      events.walk(at.row, at.neuron);
      this.keys.setAttribute("aria-activedescendant", `nv-key-${at.row}`);
    });
    this.keys.addEventListener("blur", () => {
      this.keys.removeAttribute("aria-activedescendant");
      events.point(-1, 0, null);
    });
    this.queries.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step === undefined || !this.scene) return;
      event.preventDefault();
      event.stopPropagation();
      const next = Math.max(0, Math.min(this.length - 1, this.scene.query + step));
      if (next !== this.scene.query) events.pin(next);
    });
    this.element.addEventListener("mousemove", (event) => {
      const target = event.target as HTMLElement;
      const query = target.closest<HTMLElement>("[data-query]");
      if (query) {
        events.point(-1, 0, null);
        return events.look(Number(query.dataset["query"]));
      }
      events.look(null);
      const row = target.closest<HTMLElement>("[data-row]");
      if (row) events.point(Number(row.dataset["row"]), event.clientX - this.element.getBoundingClientRect().left, event);
    });
    this.element.addEventListener("mouseleave", () => {
      events.look(null);
      events.point(-1, 0, null);
    });
    this.element.addEventListener("click", (event) => {
      const query = (event.target as HTMLElement).closest<HTMLElement>("[data-query]");
      if (query) events.pin(Number(query.dataset["query"]));
    });
  }

  place(scene: Scene): void {
    this.scene = scene;
    this.length = scene.units.query.length;
    this.shown = "";
    this.queries.setAttribute("aria-activedescendant", `nv-query-${scene.query}`);
    this.element.style.width = `${scene.columns.width}px`;
  }

  /** Elements for the rows in sight, and a few beyond. */
  window(scroll: number, height: number): void {
    const { scene } = this;
    if (!scene) return;
    const { row: size, top } = scene.columns;
    // What is scrolled past goes under the head of the picture, not over it.
    this.element.style.clipPath = `inset(${scroll + top}px 0 -${top + scene.units.query.length * size}px)`;
    const count = Math.max(scene.units.key.length, scene.units.query.length);
    const first = Math.max(0, Math.floor(scroll / size) - 8);
    const last = Math.min(count, Math.ceil((scroll + height - top) / size) + 8);
    const shown = `${first} ${last} ${scene.query}`;
    if (shown === this.shown) return;
    this.shown = shown;
    const places = Array.from({ length: last - first }, (_, at) => first + at);
    const [keys, queries] = [scene.units.key.length, scene.units.query.length];
    this.keys.replaceChildren(...places.filter((i) => i < keys).map((i) => this.row(scene, i, top + i * size)));
    this.queries.replaceChildren(...places.filter((i) => i < queries).map((i) => this.query(scene, i, top + i * size)));
  }

  private row(scene: Scene, i: number, top: number): HTMLElement {
    const { row, units, columns } = scene;
    const unit = units.key[i];
    const element = make("div", {
      class: "nv-row",
      role: "option",
      id: `nv-key-${i}`,
      "data-row": unit.start,
      "data-dot": row.dot[unit.start],
      "data-score": row.scaled[unit.start],
      "data-weight": row.weight[unit.start],
      "aria-label": `key ${unit.text}: q·k ${valueText(row.dot[unit.start])}, scaled ${valueText(row.scaled[unit.start])}, weight ${weightText(row.weight[unit.start])}`,
    });
    Object.assign(element.style, { top: `${top}px`, height: `${columns.row}px`, left: `${columns.key.x}px`, width: `${columns.width - columns.key.x}px` });
    return element;
  }

  private query(scene: Scene, i: number, top: number): HTMLElement {
    const { columns, units } = scene;
    const unit = units.query[i];
    const chosen = i === scene.query;
    const element = make(
      "div",
      {
        class: `nv-query${chosen ? " chosen" : ""}${unit.special ? " special" : ""}`,
        role: "option",
        id: `nv-query-${i}`,
        "data-query": i,
        "data-side": "query",
        "data-token": i,
        "aria-selected": String(chosen),
        "aria-label": `Query ${unit.text}`,
      },
      visible(unit.text),
    );
    Object.assign(element.style, {
      top: `${top + 1}px`,
      height: `${columns.row - 2}px`,
      lineHeight: `${columns.row - 2}px`,
      left: `${columns.query.x}px`,
      width: `${columns.query.width}px`,
    });
    return element;
  }
}
