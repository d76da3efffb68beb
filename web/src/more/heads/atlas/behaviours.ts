/** The several things that a head does: its queries and strongest keys in one plane, and the examples of a part of it. */
import type { BehaviourHeader, Behaviours, Matched, Token } from "../../../protocol/atlas";
import { make, number, valueText, visible, weightText } from "../../../render/dom";
import { css } from "../../../render/oklch";
import { writeNumbers } from "../head_scatter/groups";
import { span, svg } from "../head_scatter/geometry";
import type { Point } from "../head_scatter/geometry";
import { marked } from "./head_page";
import type { Asked, PageHooks } from "./head_page";

/** Left, top, right and bottom, as shares of the plane. */
export type Brush = [number, number, number, number];

const [width, height, margin, listed, fewest] = [420, 300, 10, 12, 8];
const dot = 2.6;

export function behaviours(all: Behaviours, place: number, asked: Asked, hooks: PageHooks): HTMLElement {
  const [found, points] = [all.of(place), all.points(place)];
  const colours = hooks.colours(Math.max(fewest, found.length)).map(css);
  const drawn = plane(points, found.length, asked, colours, hooks);
  const inside = points.map((point, i) => (asked.behaviour < 0 || point.behaviour === asked.behaviour) && (!asked.brush || drawn.places[i].some((at) => within(at, asked.brush!))));
  drawn.dim(inside);
  const chosen = points.map((_, i) => i).filter((i) => inside[i]);
  chosen.sort((a, b) => points[b].weight - points[a].weight);
  const items = chosen.slice(0, listed).map((i) => {
    const item = line(points[i], colours[points[i].behaviour], asked, hooks);
    item.addEventListener("pointerenter", () => drawn.point(i));
    item.addEventListener("pointerleave", () => drawn.point(null));
    return item;
  });
  const some = points.length < all.header.total ? `${number(points.length)} of ${number(all.header.total)} positions, drawn at random` : `${number(points.length)} positions`;
  const said = `${some} · ● query ◆ its strongest key · ${all.header.axes} of both · drag to choose positions`;
  return make(
    "section",
    { class: "at-several", "data-behaviours": found.length },
    make("h3", {}, found.length > 1 ? `${found.length} behaviours` : "One behaviour"),
    make("div", { class: "sc-groups", role: "group", "aria-label": "Behaviours of this head" }, ...found.map((each, i) => chip(each, i, colours[i], asked, hooks))),
    drawn.picture as unknown as HTMLElement,
    make("p", { class: "at-why" }, said),
    make("p", { class: "at-count", role: "status", "data-chosen": chosen.length }, `${number(items.length)} of ${number(chosen.length)} chosen positions, strongest first`),
    make("ol", { class: "at-examples" }, ...items),
  );
}

/** A behaviour in a line: its share, and its label with lift, or its most frequent keys. */
export function named({ share, label, lift, keys }: BehaviourHeader): string {
  const what = label ? `${label}${lift === null ? "" : ` (lift ${valueText(lift)})`}` : keys.length ? `to ${keys.map((key) => `“${visible(key)}”`).join(", ")}` : "no pattern label";
  return `${Math.round(100 * share)} % ${what}`;
}

function chip(each: BehaviourHeader, at: number, colour: string, asked: Asked, hooks: PageHooks): HTMLElement {
  const mark = make("i", { "aria-hidden": "true" });
  mark.style.background = colour;
  const on = asked.behaviour === at;
  const score = each.label && each.score !== null ? `Attention to its targets ${each.score.toFixed(2)}. ` : "";
  const title = `${score}Mean largest weight ${each.weight === null ? "–" : weightText(each.weight)}. Most frequent keys: ${each.keys.map((key) => `“${visible(key)}”`).join(", ") || "none"}.`;
  const button = make("button", { class: "button", "data-control": `behaviour-${at}`, "data-behaviour": at, "aria-pressed": String(on), title }, mark, `${at + 1} · ${named(each)}`);
  button.addEventListener("click", () => hooks.ask({ ...asked, behaviour: on ? -1 : at, brush: null }));
  return button;
}

const within = ([x, y]: Point, [left, top, right, bottom]: Brush) => {
  const [across, down] = [x / width, y / height];
  return left <= across && across <= right && top <= down && down <= bottom;
};

interface Drawn {
  picture: SVGSVGElement;
  /** Where each position's query and key stand. */
  places: [Point, Point][];
  dim(inside: boolean[]): void;
  /** Shows one position with a line from its query to its key. */
  point(at: number | null): void;
}

function plane(points: Matched[], count: number, asked: Asked, colours: string[], hooks: PageHooks): Drawn {
  const along = (axis: 0 | 1) => span(Float32Array.from(points.flatMap(({ query, key }) => [query[axis], key[axis]])));
  const [across, up] = [along(0), along(1)];
  const onto = ([x, y]: Point): Point => [margin + ((x - across[0]) / (across[1] - across[0])) * (width - 2 * margin), height - margin - ((y - up[0]) / (up[1] - up[0])) * (height - 2 * margin)];
  const places = points.map(({ query, key }): [Point, Point] => [onto(query), onto(key)]);
  const label = `Queries and strongest keys of this head in one plane, in ${count} ${count === 1 ? "cluster" : "clusters"}`;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "at-plane", role: "img", "aria-label": label }, svg("rect", { class: "sc-frame", x: 0.5, y: 0.5, width: width - 1, height: height - 1 }));
  const marks = points.map(({ behaviour }, i) => {
    const [[qx, qy], [kx, ky]] = places[i].map(([x, y]) => [Number(x.toFixed(1)), Number(y.toFixed(1))]);
    const group = svg("g", { "data-point": i, fill: colours[behaviour] }, svg("circle", { cx: qx, cy: qy, r: dot }), svg("path", { d: `M${kx} ${ky - dot - 1}l${dot + 1} ${dot + 1}l${-dot - 1} ${dot + 1}l${-dot - 1} ${-dot - 1}z` }));
    picture.append(group);
    return group;
  });
  const groups = Array.from({ length: count }, (_, at) => ({ number: at + 1, places: points.map((_, i) => i).filter((i) => points[i].behaviour === at), mostly: "" }));
  if (count > 1) writeNumbers(picture, groups, places.map(([query]) => query));
  const link = svg("line", { class: "at-link", visibility: "hidden" });
  picture.append(link);
  const point = (at: number | null) => {
    link.setAttribute("visibility", at === null ? "hidden" : "visible");
    if (at === null) return;
    const [[x1, y1], [x2, y2]] = places[at];
    for (const [name, value] of Object.entries({ x1, y1, x2, y2 })) link.setAttribute(name, String(value));
  };
  const under = (event: Event) => (event.target as Element).closest("[data-point]")?.getAttribute("data-point") ?? null;
  picture.addEventListener("pointermove", (event) => {
    const at = event.buttons ? null : under(event);
    point(at === null ? null : Number(at));
    if (at === null) return hooks.tooltip.hide();
    const { weight, keyToken, tokens, at: [query] } = points[Number(at)];
    const asks = tokens.find(({ place }) => place === query);
    hooks.tooltip.show({ title: `“${visible(asks?.text ?? "")}” → “${visible(keyToken)}”`, rows: [{ text: "weight", value: weightText(weight) }] }, event.clientX, event.clientY);
  });
  picture.addEventListener("pointerleave", () => (hooks.tooltip.hide(), point(null)));
  picture.addEventListener("pointerdown", (down) => brush(picture, down, (chosen) => hooks.ask({ ...asked, brush: chosen })));
  if (asked.brush) picture.append(box(asked.brush));
  return { picture, places, point, dim: (inside) => marks.forEach((mark, i) => mark.classList.toggle("out", !inside[i])) };
}

const box = ([left, top, right, bottom]: Brush) => svg("rect", { class: "sc-brush", x: left * width, y: top * height, width: (right - left) * width, height: (bottom - top) * height });

/** A drag chooses the enclosed queries and keys; a click chooses all again. */
function brush(picture: SVGSVGElement, down: PointerEvent, choose: (brush: Brush | null) => void): void {
  if (down.button !== 0) return;
  down.preventDefault();
  const { left, top, width: wide, height: tall } = picture.getBoundingClientRect();
  const share = (value: number) => Math.min(1, Math.max(0, value));
  const place = (event: PointerEvent): Point => [share((event.clientX - left) / wide), share((event.clientY - top) / tall)];
  const [x, y] = place(down);
  const stop = new AbortController();
  const { signal } = stop;
  let shape: SVGElement | null = null;
  const enclosed = (event: PointerEvent): Brush => {
    const [toX, toY] = place(event);
    return [Math.min(x, toX), Math.min(y, toY), Math.max(x, toX), Math.max(y, toY)];
  };
  const moved = (event: PointerEvent) => Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) > 4;
  picture.setPointerCapture?.(down.pointerId);
  picture.addEventListener(
    "pointermove",
    (event) => {
      shape?.remove();
      shape = moved(event) ? box(enclosed(event)) : null;
      if (shape) picture.append(shape);
    },
    { signal },
  );
  picture.addEventListener(
    "pointerup",
    (event) => {
      stop.abort();
      choose(moved(event) ? enclosed(event) : null);
    },
    { signal },
  );
  picture.addEventListener("pointercancel", () => (stop.abort(), shape?.remove()), { signal });
}

/** An example: the query framed, its strongest key shaded, or named where it is far away. */
function line(point: Matched, colour: string, asked: Asked, { read }: PageHooks): HTMLElement {
  const { document, at: [query, key], keyToken, weight } = point;
  const mark = make("i", { "aria-hidden": "true" });
  mark.style.background = colour;
  const item = make("li", { "data-document": document, "data-query": query, "data-behaviour": point.behaviour }, make("b", { title: `text ${document}, token ${query}` }, mark, weightText(weight)));
  const text = make(read ? "button" : "span", { class: "at-text" });
  const near = point.tokens.some(({ place }) => place === key);
  const far: Token[] = near ? [] : [{ place: key, text: keyToken, continues: false, special: false }];
  const weights = new Map([[key, weight]]);
  if (far.length) {
    marked(text, far, null, weights);
    text.append(" … ");
  }
  marked(text, point.tokens, query, weights);
  if (read) {
    text.setAttribute("title", `Read this text in the ${asked.view} view`);
    text.addEventListener("click", () => read(document, query, asked.view));
  }
  item.append(text);
  return item;
}
