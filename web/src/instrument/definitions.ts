/** The views there are: those of this bundle, and those that another script of ours has left for it. */
import views from "virtual:views";
import { addOwn, defaults } from "../state/state";
import style from "../style.css";
import type { ViewDefinition } from "../views/view";

declare global {
  /** Where the bundles of src/more leave their views: they run before or after this one. */
  var headscopeViews: ViewDefinition[] | undefined;
}

/** In the order of the tabs. */
export const definitions: ViewDefinition[] = [];
let sheet: CSSStyleSheet | null = null;

/** Takes in the views that have arrived; those already here stay as they are. In a notebook every widget's script
 * leaves its views, so that one may be there many times. */
export function takeIn(): void {
  const known = new Set(definitions.map((view) => view.name));
  const all = new Map([...views, ...(globalThis.headscopeViews ?? [])].map((view) => [view.name, view]));
  const found = [...all.values()].filter((view) => !known.has(view.name));
  if (!found.length) return;
  for (const { choices, keeps } of found) {
    for (const { name, entries } of choices ?? []) addOwn(name, entries[0][0], entries.map(([value]) => value));
    for (const [name, value] of Object.entries(keeps ?? {})) addOwn(name, value);
  }
  definitions.push(...found);
  definitions.sort((a, b) => a.place - b.place);
  addOwn("view", defaults.view, definitions.map((view) => view.name));
  if (sheet) dress(sheet);
}
takeIn();

function dress(bare: CSSStyleSheet): void {
  bare.replaceSync([style, ...definitions.map((view) => view.style ?? "")].join("\n"));
}

/** A constructed sheet needs no permission from a Content-Security-Policy. */
export function adoptStyle(root: ShadowRoot): void {
  if (!sheet) dress((sheet = new CSSStyleSheet()));
  root.adoptedStyleSheets = [sheet];
}
