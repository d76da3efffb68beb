/** A trace or a circuit: nodes by layer, arrows as wide as what they carry; a click opens a head of the reading. */
import type { GraphHeader, GraphNode } from "../../../protocol/types";
import { make, valueText, visible } from "../../../render/dom";
import type { Context, View } from "../../../views/view";
import { arrow, boxes, joined, text } from "./layout";

const svg = <Name extends keyof SVGElementTagNameMap>(name: Name, attributes: Record<string, string | number> = {}, ...children: (Node | string)[]): SVGElementTagNameMap[Name] => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
};

const [thin, thick] = [1, 6];
/** Properties that a saved picture carries itself: it stands without the page's style. */
const styled = ["fill", "stroke", "stroke-width", "stroke-opacity", "fill-opacity", "opacity", "font-family", "font-size", "font-weight", "paint-order"];

export class GraphView implements View {
  readonly element = make("div", { class: "gr" });
  private readonly header: GraphHeader;
  private picked: number | null = null;

  constructor(private readonly context: Context) {
    this.header = context.reading.header.graph!;
  }

  update(): void {
    this.context.show(null, () => this.fill());
  }

  private fill(): void {
    const { header } = this;
    const save = make("button", { class: "button", "data-control": "svg", title: "Save this picture as SVG" }, "SVG");
    const picture = this.draw();
    save.addEventListener("click", () => this.save(picture));
    const clicks = this.context.reading.parts.length ? " Click a head to open it." : "";
    this.element.replaceChildren(
      make("div", { class: "gr-head" }, make("h2", {}, header.title), save),
      make("p", { class: "gr-note" }, `${header.caption.replace(/\.?$/, ".")} Read from below. Blue adds, orange takes away; width is the size.${clicks}`),
      make("div", { class: "gr-scroll" }, picture),
    );
    this.context.status(header.title);
  }

  redraw(): void {
    this.update();
  }

  picture(): Record<string, unknown> {
    return { title: this.header.title, nodes: this.header.nodes.length, links: this.header.links.length };
  }

  copy(): string {
    const { nodes, links } = this.header;
    return links.map(({ source, target, through, value }) => [nodes[source].name, nodes[target].name, through, valueText(value)].join("\t")).join("\n");
  }

  clear(): void {
    this.picked = null;
    this.update();
  }

  private draw(): SVGSVGElement {
    const { nodes, links, title } = this.header;
    const laid = boxes(nodes, Math.max(320, (this.element.clientWidth || 900) - 32));
    const { width, height } = laid;
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${title}: ${nodes.length} nodes, ${links.length} arrows` });
    const most = Math.max(1e-9, ...links.map(({ value }) => Math.abs(value)));
    const arrows = links.map((link) => {
      const { path, label } = arrow(laid.boxes[link.source], laid.boxes[link.target]);
      const line = svg("path", { d: path, "stroke-width": (thin + (thick - thin) * (Math.abs(link.value) / most)).toFixed(1) });
      const wide = svg("path", { d: path, class: "reach" });
      const named = link.through && !["mlp", "logits"].includes(link.through) ? [svg("text", { x: label[0].toFixed(1), y: (label[1] + 4).toFixed(1) }, link.through)] : [];
      const group = svg("g", { class: link.value < 0 ? "gr-link against" : "gr-link", "data-link": `${nodes[link.source].name}→${nodes[link.target].name}` }, wide, line, ...named);
      group.addEventListener("pointermove", ({ clientX, clientY }) => {
        const rows = [{ text: `${link.text}${link.through ? ` (${link.through})` : ""}`, value: this.written(link.value, link.text) }];
        this.context.tooltip.show({ title: `${visible(text(nodes[link.source]))} → ${visible(text(nodes[link.target]))}`, rows }, clientX, clientY);
      });
      group.addEventListener("pointerleave", () => this.context.tooltip.hide());
      picture.append(group);
      return group;
    });
    const marks = nodes.map((node, i) => {
      const mark = this.node(node, i, laid.boxes[i]);
      picture.append(mark);
      return mark;
    });
    const light = (at: number | null) => {
      const own = at === null ? null : joined(this.header, at);
      marks.forEach((mark, i) => mark.classList.toggle("out", !!own && !own.has(i)));
      arrows.forEach((group, i) => group.classList.toggle("out", !!own && !(own.has(links[i].source) && own.has(links[i].target))));
    };
    marks.forEach((mark, i) => {
      mark.addEventListener("pointerenter", () => light(i));
      mark.addEventListener("pointerleave", () => light(this.picked));
    });
    light(this.picked);
    return picture;
  }

  /** Shares and weights as percentages, scores as numbers. */
  private written = (value: number, of: string) => (of.startsWith("score") ? valueText(value) : `${Math.round(100 * value)} %`.replace("-", "−"));

  private node(node: GraphNode, at: number, { left, top, width, height }: { left: number; top: number; width: number; height: number }): SVGGElement {
    const { layer, head, position } = node;
    const kind = node.kind ?? this.context.reading.parts[0]?.kind;
    const opens = node.part === "head" && layer !== null && head !== null && kind !== undefined;
    const said = text({ ...node, token: node.token && visible(node.token) });
    const group = svg(
      "g",
      { class: `gr-node ${node.part}${opens ? " opens" : ""}`, "data-node": node.name, "aria-label": opens ? `Open head ${said}` : said, ...(opens ? { role: "button", tabindex: 0 } : { role: "img" }) },
      svg("rect", { x: left, y: top, width, height, rx: 4 }),
      svg("text", { x: left + width / 2, y: top + height / 2 + 4, "text-anchor": "middle" }, said),
    );
    const open = () => {
      if (opens) return this.context.store.set({ view: "head", kind, layer, head, heads: [head], ...(position === null ? {} : { query: position }) });
      this.picked = this.picked === at ? null : at;
      this.update();
    };
    group.addEventListener("click", open);
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      open();
    });
    return group;
  }

  /** The picture as a file, with its colours and a title. */
  file(picture: SVGSVGElement): string {
    const copy = picture.cloneNode(true) as SVGSVGElement;
    const [own, copied] = [picture, copy].map((root) => [...root.querySelectorAll<SVGElement>("path, rect, text")]);
    own.forEach((element, i) => {
      const style = getComputedStyle(element);
      if (element.classList.contains("reach")) return copied[i].remove();
      for (const name of styled) copied[i].setAttribute(name, style.getPropertyValue(name));
    });
    for (const element of copy.querySelectorAll("[class]")) element.removeAttribute("class");
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.prepend(svg("title", {}, `${this.header.title}. ${this.header.caption}`));
    return new XMLSerializer().serializeToString(copy);
  }

  private save(picture: SVGSVGElement): void {
    const name = this.header.title.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "") || "graph";
    const link = make("a", { href: URL.createObjectURL(new Blob([this.file(picture)], { type: "image/svg+xml" })), download: `${name}.svg` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}
