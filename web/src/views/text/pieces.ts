/** Units in running text: their spelling, the text between, and line breaks. */
import type { Group } from "../../protocol/spans";
import type { Tokens } from "../../protocol/types";
import type { Unit } from "../../protocol/units";

export interface Piece {
  text: string;
  /** Number among the query units and among the key units: both where one text looks at itself, -1 where it is none. */
  query: number;
  key: number;
  /** Spaces before it, where it does not begin a line. */
  gap: string;
  /** Lines that must end before it, and after it. */
  before: number;
  after: number;
  /** Spaces at the beginning of its line. */
  indent: string;
  /** A separate, smaller piece: a special token, a line break, a heading. */
  quiet: boolean;
  /** Of a heading: the span of a conversation that begins here. */
  span?: string;
}

const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const lines = (text: string) => text.split("\n").length - 1;
const plain = (text: string) => text.replace(/\r\n?/g, "\n").replaceAll("\t", "    ").replace(controls, "\u00b7");

/** A token without its text: its spelling, with a space before a new word. */
function guessed(tokens: Tokens, at: number): string {
  const text = tokens.text[at].replace(/^##/, "");
  const joins = at === 0 || tokens.continues[at] === 1 || (tokens.class[at] === 3 && !/^[([{“"']/.test(text));
  return joins ? text : ` ${text}`;
}

/** `place` says which query and which key each unit is. */
export function piecesOf(tokens: Tokens, units: Unit[], place: (unit: Unit) => { query: number; key: number }): Piece[] {
  let segment = -1;
  let afterSpecial = false;
  return units.map((unit) => {
    let whole = "";
    for (let token = unit.start; token < unit.end; token++) whole += tokens.written?.[token] ?? guessed(tokens, token);
    whole = plain(whole);
    const text = whole.trim();
    const lead = /^\s*/.exec(whole)![0];
    const starts = unit.segment !== segment && segment >= 0 ? 2 : 0;
    segment = unit.segment;
    const gap = afterSpecial && lead === "" ? " " : lead;
    afterSpecial = unit.special;
    const piece = { ...place(unit), text, gap, before: Math.max(lines(lead), starts), after: 0, indent: "", quiet: unit.special };
    if (unit.special) return { ...piece, text: text || unit.text, gap: " ", before: starts };
    if (text === "") {
      const breaks = lines(whole);
      return { ...piece, text: breaks ? "⏎" : "·", gap: "", before: starts, after: breaks, quiet: true };
    }
    const indent = lead.includes("\n") ? lead.slice(lead.lastIndexOf("\n") + 1) : "";
    return { ...piece, after: lines(/\s*$/.exec(whole)![0]), indent };
  });
}

/** The same pieces with a line over those that the model wrote itself. */
export function withBoundary(pieces: Piece[], units: Unit[]): Piece[] {
  const at = units.findIndex((unit) => unit.begins);
  return at < 0 ? pieces : [...pieces.slice(0, at), heading("the model wrote:", at === 0), ...pieces.slice(at)];
}

/** The same pieces with a heading over each message, document and answer. */
export function withSpans(pieces: Piece[], groups: Group[]): Piece[] {
  const begins = new Map(groups.map(({ start, name }) => [start, name]));
  return pieces.flatMap((piece, at) => {
    const name = begins.get(piece.key);
    return name === undefined ? [piece] : [{ ...heading(name, at === 0), span: name }, piece];
  });
}

/** A line of its own over one of two texts. */
export function heading(text: string, first: boolean): Piece {
  return { text, query: -1, key: -1, gap: "", before: first ? 0 : 2, after: 1, indent: "", quiet: true };
}
