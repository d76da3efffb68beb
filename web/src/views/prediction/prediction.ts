/** The prediction view: the text, the heads that pushed its answer up and down, and from which words. */
import type { Prediction } from "../../protocol/reading";
import type { Answer, PredictionHeader, PredictionPart } from "../../protocol/types";
import type { State } from "../../protocol/types";
import { make, valueText, visible } from "../../render/dom";
import { css } from "../../render/oklch";
import { at, diverging } from "../../render/scales";
import type { Context, View } from "../view";
import { flowPicture, nameOf } from "./flow";

/** The request, in the address's spelling. */
function answerOf(state: State): Answer {
  const { target, rather, token } = state as State & Record<"target" | "rather" | "token", string | undefined>;
  return { target: target || null, rather: rather || null, token: token ? Number(token) : null };
}

export class PredictionView implements View {
  readonly element = make("div", { class: "pr" });
  private found: Prediction | null = null;

  constructor(private readonly context: Context) {}

  update(state: State): void {
    if (!this.found) this.element.replaceChildren(make("p", { class: "pr-note" }, "asking which heads made the prediction…"));
    const { target, rather, token } = answerOf(state);
    const draw = (found: Prediction) => {
      this.found = found;
      this.draw(state, found);
    };
    this.context.show(this.context.reading.prediction({ target, rather, token }), draw, (sentence) => {
      // A change of size or theme must not bring back the answer before.
      this.found = null;
      this.element.replaceChildren(make("div", { class: "message" }, make("strong", {}, sentence), ...this.waysOn(state)));
    });
  }

  redraw(): void {
    if (this.found) this.draw(this.context.store.state, this.found);
  }

  copy(): string | null {
    const parts = this.found?.header.parts ?? [];
    return parts.map((part) => `${part.label}\t${part.value}`).join("\n") || null;
  }

  picture(): Record<string, unknown> | null {
    if (!this.found) return null;
    const { target, value, flow } = this.found.header;
    return { target, value, parts: flow.parts.map((part) => [part.label, part.value]), edges: flow.edges, shown: flow.shown, rest: flow.rest };
  }

  private open(part: PredictionPart): void {
    if (part.part !== "head" || part.layer === null || part.head === null || !part.kind) return;
    const { position } = this.found!.header; // the head's query for the answer; the next request asks for its writers
    this.context.store.set({ kind: part.kind, layer: part.layer, head: part.head, heads: [part.head], ...(position === null ? {} : { query: position, key: null }) });
  }

  private draw(state: State, { header, byKey }: Prediction): void {
    const name = `${state.kind}.${state.layer}.${state.head}`;
    const ramp = diverging(this.context.shade());
    const row = header.words.indexOf(name);
    const width = Math.max(header.query.length, header.key?.length ?? 0);
    const values = row < 0 ? null : byKey.subarray(row * width, (row + 1) * width);
    const most = Math.max(...(values ? Array.from(values, Math.abs) : [0]), 1e-9);
    const words = state.kind === "cross" && header.key ? header.key : header.query;
    const text = make("p", { class: "pr-text" });
    const explained = this.explained(header);
    words.forEach((word, index) => {
      const own = words === header.query;
      const name = [own && index === header.position ? "asks" : "", own && index === explained ? "explained" : ""].join(" ").trim();
      const click = own ? this.clickOf(index) : null;
      const span = make(click ? "button" : "span", { class: name, ...(click ? { "data-token": index } : {}) }, visible(word));
      if (click) span.addEventListener("click", click);
      const value = values?.[index] ?? 0;
      span.style.background = value ? css(at(ramp, 0.5 + (0.32 * value) / most)) : "";
      span.title = values ? `${valueText(value)} of head ${state.layer}-${state.head}` : "";
      text.append(span, " ");
    });
    if (this.causal && words === header.query && this.context.reading.canAsk) {
      const next = make("button", { class: explained === words.length ? "explained" : "", "data-token": words.length, title: "What the model says next" }, "▹");
      next.addEventListener("click", () => this.explain({ token: "" }));
      text.append(next, " ");
    }
    text.append("→ ", make("b", {}, visible(header.target[0])), ...(header.target[1] ? [` rather than ${visible(header.target[1])}`] : []));
    const pictures = make("div", { class: "pr-columns" }, this.bars(header, name), make("div", {}, this.flow(header, name), ...this.says(header, name)));
    const note = make("p", { class: "pr-note" }, this.note(header));
    this.element.replaceChildren(text, this.answers(header), pictures, note);
    const asks = text.querySelector<HTMLElement>(".asks");
    if (asks) text.scrollTop = asks.offsetTop - text.offsetTop - text.clientHeight + 2 * asks.offsetHeight;
    const what = header.target.length > 1 ? "difference of two logits" : "logit";
    const total = `${what} ${valueText(header.value)}`;
    // A head that is not among those listed colours no word, and has no scale.
    if (!values) return this.context.status(`${total}; head ${state.layer}-${state.head} is not among the parts that matter most`, null);
    this.context.status(`${total}; words coloured by what head ${state.layer}-${state.head} took from them`, {
      kind: "ramp",
      ramp,
      title: "adds to the answer",
      low: `−${valueText(most)}`,
      high: valueText(most),
    });
  }

  /** The model's other answers; with a running model, a click explains one of them. */
  private answers(header: PredictionHeader): HTMLElement {
    const line = make("div", { class: "pr-answers" }, "The model says");
    const explained = header.likeliest.findIndex(([token]) => token === header.target[0]);
    const state = this.context.store.state as State & Record<string, string>;
    header.likeliest.forEach(([token, share], i) => {
      const button = make("button", { "aria-pressed": String(i === explained), disabled: !this.context.reading.canAsk }, `${visible(token)} ${share < 0.005 ? "<1" : (100 * share).toFixed(0)} %`);
      button.addEventListener("click", () => this.context.store.set({ target: token } as Partial<State>));
      line.append(button);
    });
    if (!this.context.reading.canAsk) return line;
    const known = make("datalist", { id: "pr-known" }, ...header.likeliest.map(([token]) => make("option", { value: token.trim() })));
    line.append(known, "Why", this.typed("target", "this answer", state.target, header.target[0]), make("span", {}, "rather than ", this.typed("rather", "another answer", state.rather, header.target[1])));
    return line;
  }

  /** A box for one of the two answers: a pick from the likeliest, or any token by its spelling. */
  private typed(name: "target" | "rather", says: string, value: string, shown: string | undefined): HTMLElement {
    const box = make("input", { type: "text", list: "pr-known", "data-answer": name, "aria-label": says, placeholder: says, value: value || (shown ?? "").trim(), size: 12 });
    box.addEventListener("change", () => this.context.store.set({ [name]: box.value.trim() }));
    return box;
  }

  private get causal(): boolean {
    const { reading } = this.context;
    return reading.parts.some((part) => part.kind === "decoder");
  }

  /** The token that the picture is about; in a decoder the one after the position that predicts it. */
  private explained(header: PredictionHeader): number | null {
    return header.position === null ? null : header.position + (this.causal ? 1 : 0);
  }

  private explain(change: { token: string }): void {
    this.context.store.set({ ...change, target: "", rather: "" } as Partial<State>);
  }

  /** A token of a decoder, or a mask, is explained; another word of an encoder is masked first. */
  private clickOf(index: number): (() => void) | null {
    const { reading } = this.context;
    if (!reading.canAsk || (this.causal && index === 0)) return null;
    const own = reading.parts[0] ? reading.tokens(reading.parts[0].kind).query : null;
    if (this.causal || /mask/i.test(own?.text[index] ?? "")) return () => this.explain({ token: String(index) });
    const { maskWord } = reading;
    return maskWord && (own?.word[index] ?? -1) >= 0 ? () => maskWord(index) : null;
  }

  /** If the request cannot be explained: offer the likeliest answer, or a word to mask. */
  private waysOn(state: State): HTMLElement[] {
    const { reading } = this.context;
    const { target, rather, token } = answerOf(state);
    const ways: HTMLElement[] = [];
    if ((target ?? rather ?? token) !== null) {
      const back = make("button", { class: "button", "data-control": "likeliest" }, "explain the likeliest answer");
      back.addEventListener("click", () => this.explain({ token: "" }));
      ways.push(back);
    }
    const { maskWord } = reading;
    if (!maskWord) return ways;
    const words = make("p", { class: "pr-text", "data-mask": "" }, "Mask a word, and see what the model puts there: ");
    reading.tokens(reading.parts[0].kind).query.text.forEach((text, index) => {
      const click = this.clickOf(index);
      const word = make(click ? "button" : "span", {}, visible(text));
      if (click) word.addEventListener("click", click);
      words.append(word, " ");
    });
    return [...ways, words];
  }

  private bars(header: PredictionHeader, open: string): HTMLElement {
    const ramp = diverging(this.context.shade());
    const list = make("div", { class: "pr-bars" });
    const rest: PredictionPart = { part: "rest", kind: null, layer: null, head: null, label: "all others", value: header.rest };
    const shown = [...header.parts, rest];
    const most = Math.max(...shown.map((part) => Math.abs(part.value)), 1e-9);
    for (const part of shown) {
      const share = (50 * Math.abs(part.value)) / most;
      const bar = make("b");
      bar.style.left = `${part.value < 0 ? 50 - share : 50}%`;
      bar.style.width = `${share}%`;
      const line = make(part.part === "head" ? "button" : "div", { class: `pr-bar${nameOf(part) === open ? " open" : ""}` }, part.label, make("i", {}, bar), make("em", {}, valueText(part.value)));
      line.style.setProperty("--colour", part.part === "rest" ? "var(--bar)" : css(at(ramp, part.value >= 0 ? 0.95 : 0.05)));
      line.addEventListener("click", () => this.open(part));
      line.addEventListener("mousemove", (event) => this.look(event as MouseEvent, header, part, null, part.value));
      line.addEventListener("mouseleave", () => this.context.tooltip.hide());
      list.append(line);
    }
    return list;
  }

  private flow(header: PredictionHeader, open: string): SVGElement {
    return flowPicture(header, open, diverging(this.context.shade()), {
      open: (part) => this.open(part),
      look: (event, part, key, value) => this.look(event, header, part, key, value),
      leave: () => this.context.tooltip.hide(),
    });
  }

  private look(event: MouseEvent, header: PredictionHeader, part: PredictionPart, key: number | null, value: number): void {
    const words = part.kind === "cross" && header.key ? header.key : header.query;
    const rows = [{ text: key === null ? "adds" : `from “${visible(words[key])}”`, value: valueText(value) }];
    const [up, down] = header.promotes[nameOf(part)] ?? [[], []];
    if (up.length) rows.push({ text: "raises", value: up.slice(0, 4).map(visible).join(" ") });
    if (down.length) rows.push({ text: "lowers", value: down.slice(0, 4).map(visible).join(" ") });
    const title = part.part === "head" ? `head ${part.label}` : part.label;
    this.context.tooltip.show({ title, rows, note: part.part === "head" ? "click: show its source words" : undefined }, event.clientX, event.clientY);
  }

  /** The tokens that the selected head raises and lowers. */
  private says(header: PredictionHeader, open: string): HTMLElement[] {
    const found = header.promotes[open];
    if (!found) return [];
    const [up, down] = found.map((tokens) => tokens.slice(0, 6).map(visible).join(" · "));
    const [, layer, head] = open.split(".");
    return [make("p", { class: "pr-says" }, `Head ${layer}-${head} raises `, make("b", {}, up), " and lowers ", make("b", {}, down))];
  }

  private note(header: PredictionHeader): string {
    const lines = [`The lines are ${(100 * header.flow.shown).toFixed(0)} % of what the strongest heads carry; parts not drawn add ${valueText(header.flow.rest)}.`, header.note];
    if (Math.abs(header.unexplained) > 0.005 * Math.max(1, Math.abs(header.value))) lines.push(`Unexplained: ${valueText(header.unexplained)}.`);
    return lines.join(" ");
  }
}
