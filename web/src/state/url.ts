/**
 * State ↔ the query string of a link. What is looked at is always written, the rest only where it differs
 * from the defaults; what cannot be read is left out.
 */
import type { State } from "../protocol/types";
import { choices, defaults } from "./state";

/** Without these a link would open on the best head instead of the one that was on screen. */
const always = new Set<keyof State>(["view", "kind", "layer", "heads", "head"]);
const isList = (name: keyof State) => name === "heads" || name === "columns" || Array.isArray(defaults[name]);

/** `opened`: the opening state without the link; if it differs from the default, defaults are written too. */
export function toQuery(state: Partial<State>, opened: Partial<State> = {}): URLSearchParams {
  const query = new URLSearchParams();
  for (const name of Object.keys(defaults) as (keyof State)[]) {
    const value = state[name];
    if (name === "heads" && value === null) query.set("heads", "all");
    else if (value === undefined || (!always.has(name) && [defaults[name], opened[name] ?? defaults[name]].every((each) => JSON.stringify(value) === JSON.stringify(each)))) continue;
    else if (value === null) query.set(name, "none");
    else query.set(name, Array.isArray(value) ? value.join(".") : String(value));
  }
  return query;
}

export function fromQuery(query: URLSearchParams): Partial<State> {
  const state: Record<string, unknown> = {};
  for (const name of Object.keys(defaults) as (keyof State)[]) {
    const text = query.get(name);
    if (text === null) continue;
    const allowed = choices[name] as readonly unknown[] | undefined;
    if (allowed) {
      if (allowed.includes(text)) state[name] = text;
    } else if (text === "none" && defaults[name] === null) state[name] = null;
    else if (isList(name)) {
      if (name === "heads" && text === "all") state[name] = null;
      else state[name] = text.split(".").filter((each) => /^\d+$/.test(each)).map(Number);
    } else if (typeof defaults[name] === "boolean") state[name] = text === "true";
    else if (typeof defaults[name] === "string") state[name] = text === "headmap" ? "head_map" : text; // links of 0.1
    else if (text.trim() !== "" && Number.isFinite(Number(text))) state[name] = Number(text);
  }
  return state;
}
