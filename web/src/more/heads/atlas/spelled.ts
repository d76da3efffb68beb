/** A token of the corpus on a page, shortened so that it fits. */
import type { Token } from "../../../protocol/atlas";
import { visible } from "../../../render/dom";

const most = 60;

export function spelled(token: string): string {
  const shown = visible(token);
  return shown.length > most ? `${shown.slice(0, most - 1)}…` : shown;
}

/** A token that is nothing but the space before a word, as some tokenizers give numbers. */
export function isSpaceOf(token: Token, next: Token | null | undefined): boolean {
  return (token.text === "␣" || token.text === "▁") && !!next?.continues;
}

const [closing, opening, ending] = [/^[,.;:!?)\]}’”]+$/, /^[([{“‘]$/, /^(s|t|d|m|re|ve|ll)$/i];

/** Tokens have no spaces: punctuation joins its word as in English. */
export function touches(tokens: (Token | null)[], at: number): boolean {
  const [before, here, after] = [-1, 0, 1].map((by) => tokens[at + by]?.text ?? "");
  return closing.test(here) || opening.test(before) || (here === "'" && ending.test(after)) || (before === "'" && ending.test(here));
}
