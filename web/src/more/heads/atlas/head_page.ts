/** A head's page: its label with evidence, its texts, profiles, and similar heads. */
import type { AtlasData, AtlasExample, Token } from "../../../protocol/atlas";
import type { Label, ViewName } from "../../../protocol/types";
import { make, valueText, weightText } from "../../../render/dom";
import { menu } from "../head_scatter/geometry";
import type { Rgb } from "../../../render/oklch";
import type { Tooltip } from "../../../render/tooltip";
import { behaviours } from "./behaviours";
import type { Brush } from "./behaviours";
import { offsetChart, placeCharts, tokenLists } from "./charts";
import { isSpaceOf, spelled, touches } from "./spelled";
import { switchedOff } from "./switched_off";

export interface Asked {
  measure: string;
  decile: number;
  /** Where a click on an example opens its text. */
  view: ViewName;
  /** The behaviour whose positions are listed; −1: of all. */
  behaviour: number;
  /** The brushed part of the plane of queries and keys, as shares of its width and height. */
  brush: Brush | null;
}

export interface PageHooks {
  label(layer: number, head: number): Label | null;
  open(layer: number, head: number): void;
  ask(asked: Asked): void;
  /** The numbers of all heads in a column. */
  values(column: string): Float32Array | null;
  /** Reads a text of the corpus; absent where there is no model to read it. */
  read: ((document: number, query: number, view: ViewName) => void) | null;
  colours(count: number): Rgb[];
  tooltip: Tooltip;
}

export function headPage(data: AtlasData, place: number, name: [number, number], asked: Asked, hooks: PageHooks): HTMLElement {
  const page = data.header.heads[place];
  const [layer, head] = name;
  const label = hooks.label(layer, head);
  const element = make("section", { class: "at-page", "aria-label": `Head ${layer}-${head}` });
  element.append(make("h2", { tabindex: -1 }, `Head ${layer}-${head}`, make("span", {}, label ? ` ${label.text} ${label.score.toFixed(2)}` : " no pattern label")));
  for (const { label: title, holds, sentence } of page.evidence) {
    element.append(make("p", { class: "at-why" }, make("b", {}, holds ? title : `Not labelled; closest label: ${title}`), `. ${sentence}`));
  }
  element.append(examples(data, place, asked, hooks));
  const several = data.behaviours?.of(place).length ? behaviours(data.behaviours, place, asked, hooks) : null;
  if (several) element.append(several);
  const offsets = offsetChart(page);
  element.append(make("div", { class: "at-charts" }, ...(offsets ? [offsets] : []), ...placeCharts(page), ...tokenLists(page)));
  const off = switchedOff(data.header.ablations, page.off, place, (column) => hooks.values(column));
  if (off) element.append(off);
  if (page.near.length) {
    const near = page.near.map(([otherLayer, otherHead, distance]) => {
      const its = hooks.label(otherLayer, otherHead);
      const button = make("button", { class: "button", "data-near": `${otherLayer}-${otherHead}`, title: `distance ${distance}` }, `${otherLayer}-${otherHead}${its ? ` ${its.text}` : ""} · ${valueText(distance)}`);
      button.addEventListener("click", () => hooks.open(otherLayer, otherHead));
      return button;
    });
    element.append(make("h3", {}, "Heads that attend most alike (distance)"), make("div", { class: "at-near" }, ...near));
  }
  return element;
}

function examples(data: AtlasData, place: number, asked: Asked, hooks: PageHooks): HTMLElement {
  const page = data.header.heads[place];
  const there = new Set(data.all(place).map((each) => each.measure));
  const select = make("select", { "data-control": "examples" });
  for (const { name, title } of data.header.measures) if (there.has(name)) select.append(make("option", { value: name, selected: name === asked.measure }, title));
  select.addEventListener("change", () => hooks.ask({ ...asked, measure: select.value, decile: -1 }));
  const classes = page.deciles[asked.measure] ?? [];
  // The middle and the lowest decile.
  const [typical, weakest] = [classes[classes.length >> 1], classes.length > 1 ? classes[0] : undefined];
  const top = data.of(place, asked.measure, -1).map((each) => each.value);
  const asks = ([["strongest", top.length ? [-1, Math.min(...top), Math.max(...top), 0] : undefined], ["typical", typical], ["weakest", weakest]] as const).flatMap(([name, range]) => {
    if (!range) return [];
    const [decile, from, to, share] = range;
    const tied = share > 0.15 ? `, ${Math.round(100 * share)} % of the positions: their values tie` : "";
    const title = `${valueText(from)}${valueText(from) === valueText(to) ? "" : ` to ${valueText(to)}`}${decile < 0 ? "" : `: decile ${decile + 1}${tied}`}`;
    const button = make("button", { class: "button", "data-decile": decile, "data-control": name, "aria-pressed": String(decile === asked.decile), title }, name);
    button.addEventListener("click", () => hooks.ask({ ...asked, decile }));
    return button;
  });
  const shown = data.of(place, asked.measure, asked.decile);
  const list = make("ol", { class: "at-examples" }, ...shown.map((each) => line(data, each, asked.view, hooks)));
  const none = "This page holds no examples.";
  return make(
    "div",
    {},
    make("div", { class: "at-asked" }, make("label", { class: "field" }, make("span", {}, "examples of"), select), make("div", { class: "at-deciles", role: "group", "aria-label": "Which examples" }, ...asks), ...(hooks.read ? [opensIn(asked, hooks)] : [])),
    shown.length ? list : make("p", { class: "at-why" }, none),
  );
}

const viewsOfText: [ViewName, string][] = [["head", "head"], ["text", "text"], ["matrix", "matrix"]];

const opensIn = (asked: Asked, hooks: PageHooks) => menu("opens", "a click opens it in", viewsOfText, asked.view, (view) => hooks.ask({ ...asked, view }));

/** The query framed, keys shaded by weight; every weight is also available as text. */
function line(data: AtlasData, example: AtlasExample, view: ViewName, { read }: PageHooks): HTMLElement {
  const item = make("li", { "data-document": example.document, "data-query": example.query, "data-value": example.value });
  item.append(make("b", { title: `text ${example.document}, token ${example.query}` }, valueText(example.value)));
  const text = make(read ? "button" : "span", { class: "at-text" });
  const excerpt = data.excerpt(example);
  const weights = new Map(example.keys);
  if (!excerpt) text.append(`text ${example.document}: token ${example.query} to ${example.keys.map(([key, weight]) => `${key} (${weightText(weight)})`).join(", ")}; this atlas keeps no text`);
  else if (!excerpt.keys) marked(text, excerpt.asked, example.query, weights);
  else {
    marked(text, excerpt.asked, example.query, new Map());
    text.append(make("span", { class: "at-into", title: "what it looks at, in the text that the encoder read" }, " ⟵ "));
    marked(text, excerpt.keys, null, weights);
  }
  if (read) {
    text.setAttribute("title", `Read this text in the ${view} view`);
    text.addEventListener("click", () => read(example.document, example.query, view));
  }
  item.append(text);
  return item;
}

/** Tokens as text, those that matter marked. */
export function marked(into: HTMLElement, tokens: (Token | null)[], query: number | null, weights: Map<number, number>): void {
  tokens.forEach((token, i) => {
    if (token === null) return into.append(i ? " …" : tokens[1]?.continues ? "…" : "… ");
    const weight = weights.get(token.place);
    const joined = token.continues && i > 0;
    if (!joined && i > 0 && !touches(tokens, i)) into.append(" ");
    const asks = token.place === query;
    const kind = [asks ? "query" : "", weight === undefined ? "" : "key", token.special ? "special" : ""].join(" ").trim();
    const shown = spelled(joined ? token.text.replace(/^##/, "") : token.text);
    if (!kind) return into.append(isSpaceOf(token, tokens[i + 1]) ? "" : shown);
    const mark = make("span", { class: kind, title: [asks ? "the query" : "", weight === undefined ? "" : `weight ${weightText(weight)}`].filter(Boolean).join(", ") }, shown);
    if (weight !== undefined) mark.style.setProperty("--weight", String(Math.round(100 * weight)) + "%");
    into.append(mark);
  });
}
