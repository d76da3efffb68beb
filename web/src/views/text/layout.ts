/** Pieces → lines of a given width, broken where a reader would break them. */
import { textWidth } from "../../render/text";
import type { Piece } from "./pieces";

/** Letters and lines: few words are set large, many close. */
export interface Type {
  size: number;
  line: number;
}

export function typeFor(pieces: number): Type {
  if (pieces <= 40) return { size: 24, line: 44 };
  if (pieces <= 120) return { size: 20, line: 36 };
  return { size: 15, line: 26 };
}

export interface Line {
  /** Pieces from start up to (not including) end. */
  start: number;
  end: number;
  top: number;
  indent: string;
}

export interface Layout {
  lines: Line[];
  height: number;
  type: Type;
  /** Every piece's line, start and width. */
  line: Int32Array;
  x: Float32Array;
  width: Float32Array;
}

const ideograph = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\u3000-\u30ff]/;
const closing = /^[、。，．・：；？！」』）】〉》〕…ー々!?,.:;)\]}»”’]/;
const opening = /[「『（【〈《〔([{«“‘]$/;

/** May a line end between two pieces that nothing separates? After a hyphen, between ideographs, but not at their brackets and stops. */
function mayBreak(before: Piece | undefined, after: Piece): boolean {
  if (!before || after.gap !== "" || before.quiet || after.quiet) return true;
  if (closing.test(after.text) || opening.test(before.text)) return false;
  return /[-–—/_]$/.test(before.text) || ideograph.test(before.text.slice(-1)) || ideograph.test(after.text[0] ?? "");
}

const widths = new Map<string, number>();

function measured(text: string, size: number): number {
  const name = `${size} ${text}`;
  let width = widths.get(name);
  if (width === undefined) widths.set(name, (width = textWidth(text, size)));
  return width;
}

/** Special tokens are smaller than words. */
export const quietSize = 0.75;

export function layout(pieces: Piece[], room: number, type = typeFor(pieces.length)): Layout {
  const space = measured(" ", type.size);
  const [line, x, width] = [new Int32Array(pieces.length), new Float32Array(pieces.length), new Float32Array(pieces.length)];
  const lines: Line[] = [];
  let [start, top, at, indent, lastBreak] = [0, 0, 0, "", 0];
  const close = (end: number) => {
    for (let i = start; i < end; i++) line[i] = lines.length;
    lines.push({ start, end, top, indent });
    top += type.line;
    [start, indent] = [end, ""];
  };
  const place = (i: number, from: number) => {
    x[i] = from + (i > start ? pieces[i].gap.length * space : 0);
    return x[i] + width[i];
  };
  for (let i = 0; i < pieces.length; i++) {
    const piece = pieces[i];
    width[i] = measured(piece.text, piece.quiet ? type.size * quietSize : type.size);
    const forced = i > 0 ? Math.max(piece.before, pieces[i - 1].after) : 0;
    if (forced) {
      if (start < i) close(i);
      if (forced > 1) top += type.line * 0.45;
      indent = piece.indent;
      [at, lastBreak] = [indent.length * space, i];
    } else if (i > start && mayBreak(pieces[i - 1], piece)) lastBreak = i;
    at = place(i, at);
    if (at > room && i > start) {
      // A word that is longer than a line is cut where it must be.
      close(lastBreak > start ? lastBreak : i);
      at = 0;
      for (let again = start; again <= i; again++) at = place(again, at);
      lastBreak = start;
    }
  }
  if (start < pieces.length) close(pieces.length);
  return { lines, height: top, type, line, x, width };
}

/** First line that ends below y. */
export function lineAt(layout: Layout, y: number): number {
  let [low, high] = [0, layout.lines.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (layout.lines[middle].top + layout.type.line <= y) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low);
}
