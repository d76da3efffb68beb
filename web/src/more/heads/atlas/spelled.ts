/** A token of the corpus as it is written on a page: without an end it would push all else away. */
import { visible } from "../../../render/dom";

const most = 60;

export function spelled(token: string): string {
  const shown = visible(token);
  return shown.length > most ? `${shown.slice(0, most - 1)}…` : shown;
}
