/** The messages, documents and answer of a conversation, as units of a picture show them. */
import type { Part } from "./types";
import type { Unit } from "./units";

export interface Group {
  name: string;
  /** Units from the first up to (not including) end. */
  start: number;
  end: number;
}

/** Runs of units that belong to one span; what the template adds around them belongs to none. */
export function groupsOf(units: Unit[], { spans = [] }: Part): Group[] {
  const found: Group[] = [];
  let at = 0;
  units.forEach((unit, i) => {
    while (at < spans.length && spans[at].end <= unit.start) at++;
    const inside = at < spans.length && spans[at].start <= unit.start;
    const last = found[found.length - 1];
    if (inside && last?.end === i && last.name === spans[at].name) last.end = i + 1;
    else if (inside) found.push({ name: spans[at].name, start: i, end: i + 1 });
  });
  return found;
}

/** The name of the span that holds a unit, or "". */
export function spanOf(groups: Group[], unit: number): string {
  return groups.find(({ start, end }) => unit >= start && unit < end)?.name ?? "";
}

/** Which query's attention the sums are of, for the status line. */
export function sumsFrom(query: number, answer: Group[]): string {
  return `; the number beside each span is its attention from the ${query >= 0 ? "selected token" : answer.length ? "answer" : "last token"}`;
}

/**
 * How much attention each span gets: from one query, or, where none is selected (-1), on average from the
 * answer's tokens; without an answer, from the last token.
 */
export function sumsBySpan(matrix: Float32Array, columns: number, groups: Group[], query: number, answer: Group[]): Map<string, number> {
  const rows = query >= 0 ? [query] : answer.flatMap(({ start, end }) => Array.from({ length: end - start }, (_, i) => start + i));
  if (!rows.length) rows.push(matrix.length / columns - 1);
  const sums = new Map<string, number>();
  for (const { name, start, end } of groups) {
    let sum = 0;
    for (const row of rows) for (let column = start; column < end; column++) sum += matrix[row * columns + column];
    sums.set(name, (sums.get(name) ?? 0) + sum / rows.length);
  }
  return sums;
}
