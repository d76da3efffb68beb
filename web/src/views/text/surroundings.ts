/** The words around a word in the text. */
import type { Piece } from "./pieces";

const around = 4;

export function context(pieces: Piece[], at: number): [string, string] {
  const words = (from: number, to: number) =>
    pieces
      .slice(Math.max(0, from), to)
      .filter((piece) => piece.query >= 0 || piece.key >= 0)
      .map((piece) => (piece.before || piece.gap ? " " : "") + piece.text)
      .join("");
  return [words(at - around, at).trimStart(), words(at + 1, at + 1 + around)];
}
