/** The running text: only the lines in sight are in the document, however long it is. */
import { make, visible, weightText } from "../../render/dom";
import { lineAt } from "./layout";
import type { Layout } from "./layout";
import type { Piece } from "./pieces";

export interface PaneEvents {
  look(piece: number | null, event: MouseEvent): void;
  /** `add`: add to the selection; `range`: from the selection to here. */
  pin(piece: number, how: { add: boolean; range: boolean }): void;
  isolate(piece: number): void;
  scrolled(): void;
}

/** A piece's background and text colour, and whether it is selected. */
export interface Mark {
  ground: string | null;
  ink: "dark" | "light" | null;
  inHand: boolean;
  /** A number set beside it: the head it comes from. */
  note: string;
}

const margin = 8; // lines kept above and below what is in sight

export class Pane {
  readonly scroller = make("div", { class: "tx-scroll", tabindex: 0, role: "listbox", "aria-multiselectable": "true", "aria-label": "The text, word by word" });
  private readonly content = make("div", { class: "tx-content", role: "presentation" });
  private readonly shown = new Map<number, HTMLElement>();
  private pieces: Piece[] = [];
  private layout: Layout | null = null;
  private mark: ((piece: number) => Mark) | null = null;
  private sums: Map<string, number> | null = null;
  private cursor = -1;

  constructor(events: PaneEvents) {
    this.scroller.append(this.content);
    const at = (event: Event) => {
      const found = (event.target as Element).closest<HTMLElement>("[data-piece]");
      return found ? Number(found.dataset["piece"]) : null;
    };
    this.scroller.addEventListener("scroll", () => {
      this.fill();
      events.scrolled();
    });
    this.content.addEventListener("pointermove", (event) => events.look(at(event), event));
    this.content.addEventListener("pointerleave", (event) => events.look(null, event));
    this.content.addEventListener("click", (event) => {
      const piece = at(event);
      if (piece !== null) events.pin(piece, { add: event.ctrlKey || event.metaKey, range: event.shiftKey });
    });
    this.content.addEventListener("dblclick", (event) => {
      const piece = at(event);
      if (piece !== null) events.isolate(piece);
    });
  }

  place(pieces: Piece[], layout: Layout, height: number, mirrored: boolean): void {
    [this.pieces, this.layout] = [pieces, layout];
    this.scroller.style.height = `${height}px`;
    this.content.style.height = `${layout.height + 8}px`;
    this.content.style.fontSize = `${layout.type.size}px`;
    this.content.style.lineHeight = `${layout.type.line}px`;
    this.content.dir = mirrored ? "rtl" : "ltr";
    for (const line of this.shown.values()) line.remove();
    this.shown.clear();
    this.fill();
  }

  /** `sums`: the attention that each span gets, for its heading. */
  paint(mark: (piece: number) => Mark, sums: Map<string, number> | null): void {
    [this.mark, this.sums] = [mark, sums];
    this.fill();
    for (const line of this.shown.values()) {
      for (const word of line.querySelectorAll<HTMLElement>("[data-piece]")) this.colour(word);
      for (const head of line.querySelectorAll<HTMLElement>("[data-span]")) this.sum(head);
    }
  }

  /** Lines in sight, first and one past the last. */
  inSight(): [number, number] {
    const { layout, scroller } = this;
    if (!layout?.lines.length) return [0, 0];
    return [lineAt(layout, scroller.scrollTop), lineAt(layout, scroller.scrollTop + scroller.clientHeight - 1) + 1];
  }

  isInSight(piece: number): boolean {
    const { layout, scroller } = this;
    if (!layout) return false;
    const { top } = layout.lines[layout.line[piece]];
    return top >= scroller.scrollTop && top + layout.type.line <= scroller.scrollTop + scroller.clientHeight;
  }

  /** Brings a piece to the middle unless it is in sight; `flash` shows where it is. */
  reveal(piece: number, flash = false): void {
    const { layout, scroller } = this;
    if (!layout || piece < 0) return;
    if (!this.isInSight(piece)) scroller.scrollTop = layout.lines[layout.line[piece]].top - scroller.clientHeight / 2 + layout.type.line / 2;
    this.fill();
    if (flash) this.word(piece)?.animate([{ outline: "3px solid var(--accent)" }, { outline: "3px solid transparent" }], { duration: 900 });
  }

  word(piece: number): HTMLElement | null {
    return this.content.querySelector<HTMLElement>(`[data-piece="${piece}"]`);
  }

  /** The word with the keyboard focus. */
  point(piece: number): void {
    this.word(this.cursor)?.classList.remove("cursor");
    this.cursor = piece;
    this.reveal(piece);
    const word = this.word(piece);
    word?.classList.add("cursor");
    if (word) this.scroller.setAttribute("aria-activedescendant", word.id);
  }

  private fill(): void {
    const { layout } = this;
    if (!layout) return;
    const [first, last] = this.inSight();
    const [from, to] = [Math.max(0, first - margin), Math.min(layout.lines.length, last + margin)];
    for (const [number, line] of this.shown) {
      if (number >= from && number < to) continue;
      line.remove();
      this.shown.delete(number);
    }
    for (let number = from; number < to; number++) {
      if (this.shown.has(number)) continue;
      const line = this.line(number, layout);
      this.shown.set(number, line);
      this.content.append(line);
    }
  }

  private line(number: number, layout: Layout): HTMLElement {
    const { start, end, top, indent } = layout.lines[number];
    const line = make("div", { class: "tx-line", role: "presentation" }, indent);
    line.style.top = `${top}px`;
    for (let at = start; at < end; at++) {
      const piece = this.pieces[at];
      if (at > start && piece.gap) line.append(piece.gap);
      const isHeading = piece.query < 0 && piece.key < 0;
      const word = make(
        "span",
        { class: isHeading ? "tx-heading" : piece.quiet ? "tx-word quiet" : "tx-word", ...(isHeading ? {} : { "data-piece": at, id: `piece-${at}`, role: "option", "aria-selected": "false" }) },
        piece.text,
      );
      if (piece.span !== undefined) {
        word.textContent = visible(piece.span);
        word.dataset["span"] = piece.span;
        this.sum(word);
      }
      if (at === this.cursor) word.classList.add("cursor");
      line.append(word);
      if (!isHeading) this.colour(word);
    }
    return line;
  }

  private sum(head: HTMLElement): void {
    const sum = this.sums?.get(head.dataset["span"]!);
    if (sum === undefined) delete head.dataset["sum"];
    else head.dataset["sum"] = weightText(sum);
  }

  private colour(word: HTMLElement): void {
    if (!this.mark) return;
    const { ground, ink, inHand, note } = this.mark(Number(word.dataset["piece"]));
    word.style.background = ground ?? "";
    word.style.color = ink === null ? "" : ink === "dark" ? "#000" : "#fff";
    word.classList.toggle("in-hand", inHand);
    word.setAttribute("aria-selected", String(inHand));
    if (note) word.dataset["note"] = note;
    else delete word.dataset["note"];
  }
}
