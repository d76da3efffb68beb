/** An answer beside its documents: a sentence shades what it took, by the method chosen. */
import type { GroundingHeader } from "../../../protocol/types";
import type { State } from "../../../protocol/types";
import { make, valueText } from "../../../render/dom";
import type { Context, View } from "../../../views/view";

type Own = State & { method?: string; sentence?: string };

/** Sources listed under the verdict, if the documents beside it are too many to see at once. */
const LISTED = 5;

export class GroundingView implements View {
  readonly element = make("div", { class: "gr" });
  private readonly header: GroundingHeader;
  private readonly left = make("div", { class: "gr-left" });
  private readonly right = make("div", { class: "gr-right" });
  private scores: Float32Array | null = null;
  /** A sentence under the pointer shades the documents before it is chosen. */
  private over: number | null = null;
  private readonly marks = new Map<number, HTMLElement>();
  /** Whether the next drawing scrolls to the source that the sentence took most from. */
  private reveal = true;

  constructor(private readonly context: Context) {
    this.header = context.reading.header.grounding!;
    this.element.append(this.left, this.right);
  }

  update(): void {
    const { reading } = this.context;
    const loaded = this.scores ?? reading.numbers(this.header.scores.buffer);
    this.context.show(loaded, (scores) => {
      this.scores = scores;
      this.drawLeft();
      this.drawRight();
    });
  }

  redraw(): void {
    this.update();
  }

  picture(): Record<string, unknown> {
    return { method: this.header.methods[this.method].name, sentence: this.sentence - 1 };
  }

  copy(): string {
    const rows = this.header.sources.map(({ name }, at) => `${name}\t${valueText(this.value(at))}`);
    return [this.textOf(this.sentence), ...rows].join("\n");
  }

  press(key: string): boolean {
    const by = key === "ArrowRight" || key === "ArrowDown" ? 1 : key === "ArrowLeft" || key === "ArrowUp" ? -1 : 0;
    if (!by) return false;
    this.choose(Math.min(this.header.sentences.length - 1, Math.max(0, this.chosen + by)));
    return true;
  }

  clear(): void {
    this.choose(0);
  }

  /** 0 is the whole answer, as in the header. */
  private get chosen(): number {
    const { sentence } = this.context.store.state as Own;
    const at = sentence ? Number(sentence) + 1 : 0;
    return at >= 0 && at < this.header.sentences.length ? at : 0;
  }

  private get sentence(): number {
    return this.over ?? this.chosen;
  }

  private get method(): number {
    const { method } = this.context.store.state as Own;
    return Math.max(0, this.header.methods.findIndex(({ name }) => name === method));
  }

  private value(source: number): number {
    const { sentences, sources } = this.header;
    return this.scores![(this.method * sentences.length + this.sentence) * sources.length + source];
  }

  private textOf(sentence: number): string {
    const { start, stop } = this.header.sentences[sentence];
    return [...this.header.answer].slice(start, stop).join("");
  }

  private choose(sentence: number): void {
    this.over = null;
    this.reveal = true;
    this.context.store.set({ sentence: sentence ? String(sentence - 1) : "" } as Partial<State>);
    this.context.announce(`${this.textOf(sentence)} ${this.header.sentences[sentence].verdict}`);
  }

  private drawLeft(): void {
    const { header } = this;
    const focus = (this.left.getRootNode() as ShadowRoot).activeElement?.getAttribute("data-control");
    const letters = [...header.answer];
    const answer = make("div", { class: "gr-answer" });
    let at = 0;
    header.sentences.forEach(({ start, stop }, number) => {
      if (!number) return;
      answer.append(letters.slice(at, start).join(""));
      const button = make("button", { type: "button", "data-control": `s${number}`, "aria-pressed": String(number === this.chosen) }, letters.slice(start, stop).join(""));
      button.addEventListener("click", () => this.choose(number === this.chosen ? 0 : number));
      button.addEventListener("pointerenter", () => this.hover(number));
      button.addEventListener("pointerleave", () => this.hover(null));
      answer.append(button);
      at = stop;
    });
    answer.append(letters.slice(at).join(""));
    const menu = make("select", { "data-control": "method", "aria-label": "How sources are scored" });
    header.methods.forEach(({ name, title }, number) => menu.append(make("option", { value: name, selected: number === this.method }, `${name}: ${title}`)));
    menu.addEventListener("change", () => this.context.store.set({ method: menu.value } as Partial<State>));
    this.left.replaceChildren(
      make("h2", {}, "Question"),
      make("p", { class: "gr-question" }, header.question),
      make("h2", {}, "Answer"),
      answer,
      this.told(),
      make("label", { class: "gr-menu" }, "shaded by", menu),
      ...this.heads(),
    );
    if (focus) this.left.querySelector<HTMLElement>(`[data-control="${focus}"]`)?.focus();
    this.context.status(`${this.chosen ? "sentence" : "whole answer"} · ${header.methods[this.method].title}`);
  }

  private hover(sentence: number | null): void {
    this.over = sentence;
    this.left.querySelector(".gr-told")!.replaceWith(this.told());
    this.drawRight();
  }

  /** The verdict, and the sources that the sentence took most from. */
  private told(): HTMLElement {
    const { sources } = this.header;
    if (sources.length <= LISTED) return make("div", { class: "gr-told" }, this.verdict());
    const rows = this.ranked().slice(0, LISTED).map((at) => {
      const button = make("button", { type: "button", "data-control": `d${at}`, title: "Scroll to this source" }, sources[at].name);
      button.addEventListener("click", () => {
        this.scrollTo(at);
        this.marks.get(at)?.scrollIntoView({ block: "nearest" }); // on a narrow page, the window scrolls
      });
      return make("li", {}, button, valueText(this.value(at)));
    });
    return make("div", { class: "gr-told" }, this.verdict(), make("ol", { class: "gr-first" }, ...rows));
  }

  /** The numbers of the measured sources, the largest first. */
  private ranked(): number[] {
    const known = this.header.sources.map((_, at) => at).filter((at) => Number.isFinite(this.value(at)));
    return known.sort((one, two) => this.value(two) - this.value(one));
  }

  /** Scroll the documents, and within one, without moving the page around them. */
  private scrollTo(source: number): void {
    const mark = this.marks.get(source);
    const text = mark?.parentElement;
    if (!mark || !text) return;
    text.scrollTop += mark.getBoundingClientRect().top - text.getBoundingClientRect().top;
    this.right.scrollTop += text.parentElement!.getBoundingClientRect().top - this.right.getBoundingClientRect().top - 10;
  }

  private verdict(): HTMLElement {
    const { verdict, gain, by_chance, least_expected } = this.header.sentences[this.sentence];
    const what = this.sentence ? "This sentence: " : "The whole answer: ";
    const numbers = ` The documents add ${valueText(gain)} nats to its log-probability; with their letters shuffled, ${valueText(by_chance)}. Of the words that it shares with them, the least expected loses ${Math.max(0, Math.round(100 * least_expected))} % of its surprise.`;
    const unsupported = verdict.startsWith("not supported") ? " unsupported" : "";
    return make("p", { class: `gr-verdict${unsupported}` }, what, make("b", {}, verdict), make("span", {}, `.${numbers}`));
  }

  /** The words before each of the answer's: from there a head looks for the next token. */
  private answer(): Partial<State> {
    const span = this.context.reading.parts[0].spans?.find(({ name }) => name === "answer");
    if (!span) return {};
    const [first, ...also] = Array.from({ length: span.end - span.start }, (_, at) => span.start - 1 + at);
    return { query: first, key: null, side: "query", also } as Partial<State>;
  }

  private heads(): HTMLElement[] {
    const { heads, source, together } = this.header;
    if (!heads.length) return [];
    const opens = this.context.reading.parts.length > 0;
    const rows = heads.map(({ layer, head, attention, copied, lost }) => {
      const name = `${layer}-${head}`;
      const button = make("button", { type: "button", "data-control": `h${name}`, title: "Show this head in the text view" }, name);
      button.addEventListener("click", () => this.context.store.set({ view: "text", layer, head, heads: [head], ...this.answer() }));
      const cells = [attention.toFixed(3), `${Math.round(100 * copied)} %`, valueText(lost)].map((text) => make("td", {}, text));
      return make("tr", {}, make("td", {}, opens ? button : name), ...cells);
    });
    const titles: [string, string][] = [
      ["head", "Layer and number of the head, both counted from 0"],
      ["attention", `Share of its attention from the answer that goes to ${source}`],
      ["copies", `Share of the answer's tokens that the head attends to most in ${source} and that come next`],
      ["lost when cut (nats)", "What the answer's log-probability loses without this attention"],
    ];
    const all = together === null ? [] : [make("p", { class: "gr-together" }, `All ${heads.length} cut together: ${valueText(together)} nats.`)];
    return [
      make("h2", {}, `Heads from the answer to ${source}`),
      make("table", { class: "gr-heads" }, make("tr", {}, ...titles.map(([text, title]) => make("th", { title }, text))), ...rows),
      ...all,
    ];
  }

  private drawRight(): void {
    const { documents, titles, sources } = this.header;
    const reach = Math.max(1e-9, ...sources.map((_, at) => Math.abs(this.value(at))).filter(Number.isFinite));
    const cards = documents.map((text, number) => {
      const letters = [...text];
      const own = sources.map((source, at) => ({ ...source, at })).filter(({ document }) => document === number);
      const body = make("p");
      let at = 0;
      for (const { start, stop, name, at: source } of own) {
        if (start < at) continue;
        body.append(letters.slice(at, start).join(""));
        const value = this.value(source);
        const mark = make("mark", { class: value < 0 ? "against" : "", "data-source": name }, letters.slice(start, stop).join(""));
        mark.style.setProperty("--share", Number.isFinite(value) ? String(Math.abs(value) / reach) : "0");
        mark.addEventListener("pointermove", ({ clientX, clientY }) => this.tell(source, clientX, clientY));
        mark.addEventListener("pointerleave", () => this.context.tooltip.hide());
        this.marks.set(source, mark);
        body.append(mark);
        at = stop;
      }
      body.append(letters.slice(at).join(""));
      const sum = own.length === 1 && Number.isFinite(this.value(own[0].at)) ? valueText(this.value(own[0].at)) : "";
      return make("section", { class: "gr-document" }, make("h3", {}, titles[number] || `document ${number + 1}`, make("b", {}, sum)), body);
    });
    const texts = () => this.right.querySelectorAll<HTMLElement>(".gr-document p");
    const tops = [this.right.scrollTop, ...Array.from(texts(), ({ scrollTop }) => scrollTop)];
    this.right.replaceChildren(...cards);
    [this.right, ...texts()].forEach((one, number) => { one.scrollTop = tops[number] ?? 0; });
    if (this.reveal) this.scrollTo(this.ranked()[0]);
    this.reveal = false;
  }

  private tell(source: number, x: number, y: number): void {
    const { methods, sentences, sources } = this.header;
    const rows = methods.map(({ name }, method) => {
      const value = this.scores![(method * sentences.length + this.sentence) * sources.length + source];
      return { text: name, value: Number.isFinite(value) ? valueText(value) : "not measured" };
    });
    this.context.tooltip.show({ title: sources[source].name, rows }, x, y);
  }
}
