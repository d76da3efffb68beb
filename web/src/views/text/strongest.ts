/** Under the text: the words that take most, each in its own few words, a click from where it stands. */
import { make, weightText } from "../../render/dom";
import type { Piece } from "./pieces";

export interface Strong {
  piece: number;
  weight: number;
  /** Lines away, out of sight: below positive, above negative; 0 in sight. */
  away: number;
}

/** The strongest few of many without sorting them all. */
export function topOf(weights: Float32Array, count: number): number[] {
  const top: number[] = [];
  for (let i = 0; i < weights.length; i++) {
    if (weights[i] <= 0 || (top.length === count && weights[i] <= weights[top[count - 1]])) continue;
    let place = top.length;
    while (place > 0 && weights[top[place - 1]] < weights[i]) place--;
    top.splice(place, 0, i);
    if (top.length > count) top.pop();
  }
  return top;
}

const around = 4;

/** A few words before and after, as they stand. */
export function context(pieces: Piece[], at: number): [string, string] {
  const words = (from: number, to: number) =>
    pieces
      .slice(Math.max(0, from), to)
      .filter((piece) => piece.query >= 0 || piece.key >= 0)
      .map((piece) => (piece.before ? " " : piece.gap ? " " : "") + piece.text)
      .join("");
  const after = words(at + 1, at + 1 + around);
  return [words(at - around, at).trimStart(), after];
}

export class StrongestList {
  readonly element = make("div", { class: "tx-strong", role: "group", "aria-label": "The words that take most" });

  constructor(jump: (piece: number) => void) {
    this.element.addEventListener("click", (event) => {
      const found = (event.target as Element).closest<HTMLElement>("[data-jump]");
      if (found) jump(Number(found.dataset["jump"]));
    });
  }

  show(pieces: Piece[], strong: Strong[], mirrored: boolean): void {
    this.element.replaceChildren(
      ...strong.map(({ piece, weight, away }) => {
        const [before, after] = context(pieces, piece);
        const where = away === 0 ? "" : `${away < 0 ? "↑" : "↓"} ${Math.abs(away)} lines`;
        const line = make("span", { class: "tx-context", dir: mirrored ? "rtl" : "ltr" }, before, " ", make("mark", {}, pieces[piece].text), after);
        return make(
          "button",
          { class: away ? "tx-card far" : "tx-card", "data-jump": piece, "data-weight": weight, title: "Go there" },
          make("span", { class: "tx-number" }, make("b", {}, weightText(weight)), make("small", {}, where)),
          line,
        );
      }),
    );
  }
}
