/** The tokens with the most weight, each with some context; a click shows its position. */
import { make, weightText } from "./dom";

export interface Strong {
  /** The argument of a click. */
  at: number;
  weight: number;
  before: string;
  word: string;
  after: string;
  /** Lines away, out of sight: below positive, above negative; 0 in sight. */
  away: number;
}

/** The strongest few of many without sorting them all. */
export function topOf(weights: Float32Array, count: number): number[] {
  const top: number[] = [];
  for (let i = 0; i < weights.length; i++) {
    if (!(weights[i] > 0) || (top.length === count && weights[i] <= weights[top[count - 1]])) continue;
    let place = top.length;
    while (place > 0 && weights[top[place - 1]] < weights[i]) place--;
    top.splice(place, 0, i);
    if (top.length > count) top.pop();
  }
  return top;
}

/** Pixels of height it takes. */
export const listRoom = 66;

export class StrongList {
  readonly element = make("div", { class: "strong-list", role: "group", "aria-label": "The words that get the most attention" });

  constructor(jump: (at: number) => void, private readonly title = "Go there") {
    this.element.addEventListener("click", (event) => {
      const found = (event.target as Element).closest<HTMLElement>("[data-jump]");
      if (found) jump(Number(found.dataset["jump"]));
    });
  }

  show(strong: Strong[], mirrored: boolean, unit = "line"): void {
    this.element.replaceChildren(
      ...strong.map(({ at, weight, before, word, after, away }) => {
        const where = away === 0 ? "" : `${away < 0 ? "↑" : "↓"} ${Math.abs(away)} ${unit}${Math.abs(away) > 1 ? "s" : ""}`;
        return make(
          "button",
          { class: away ? "strong far" : "strong", "data-jump": at, "data-weight": weight, title: this.title },
          make("span", { class: "strong-number" }, make("b", {}, weightText(weight)), make("small", {}, where)),
          make("span", { class: "strong-context", dir: mirrored ? "rtl" : "ltr" }, before, " ", make("mark", {}, word), after),
        );
      }),
    );
  }
}
