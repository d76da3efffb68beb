/** A page's tour: its own, or a dropped file; its steps set the views' states. */
import { adoptStyle } from "../instrument/definitions";
import { tourOf } from "../state/tour";
import type { Step } from "../state/tour";
import type { Mounted } from "../protocol/types";
import { make, sentenceOf } from "../render/dom";
import { fromQuery } from "../state/url";

/** A view of the page, and the line that says its model and text. */
export interface Told {
  view: Mounted;
  caption: string;
}

export function tourIn(document: Document, views: Told[]): void {
  const carried = document.querySelector("[data-headscope-tour]")?.textContent;
  if (carried) walk(document, views, tourOf(carried));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    void file?.text().then((text) => walk(document, views, tourOf(text))).catch((error: unknown) => say(document, `${file.name}: ${sentenceOf(error)}`));
  });
}

/** The view whose text a step is about; of one text every step is. */
function viewOf(views: Told[], address: URLSearchParams): Mounted | null {
  const text = (address.get("text") ?? "").slice(0, 20);
  return views.find(({ caption }) => caption.includes(text))?.view ?? null;
}

/** The line of a tour lies under the views, in a shadow of its own. */
function line(document: Document): HTMLElement {
  const host = document.querySelector("[data-headscope-steps]") ?? document.body.appendChild(make("div", { "data-headscope-steps": "" }));
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  adoptStyle(root);
  const shade = document.querySelector<HTMLElement>("[data-headscope]")?.shadowRoot?.querySelector<HTMLElement>(".hs")?.dataset["shade"] ?? "light";
  const frame = make("div", { class: "hs page-tour", "data-shade": shade });
  root.replaceChildren(frame);
  return frame;
}

function say(document: Document, sentence: string): void {
  line(document).append(make("p", { role: "alert" }, sentence));
}

let walking = new AbortController();

function walk(document: Document, views: Told[], tour: Step[]): void {
  let at = 0;
  walking.abort(); // another tour takes the keys of the one before
  walking = new AbortController();
  const go = (to: number) => {
    if (!tour[to]) return;
    at = to;
    const { title, text, address } = tour[at];
    const query = new URLSearchParams(address);
    const view = viewOf(views, query);
    view?.set({ query: null, key: null, heads: null, ...fromQuery(query), theme: view.state.theme });
    const back = make("button", { class: "button", "data-control": "tour-back", "aria-label": "Previous step" }, "‹");
    const on = make("button", { class: "button", "data-control": "tour-on", "aria-label": "Next step" }, "›");
    back.disabled = at === 0;
    on.disabled = at === tour.length - 1;
    back.addEventListener("click", () => go(at - 1));
    on.addEventListener("click", () => go(at + 1));
    const words = make("p", { "aria-live": "polite" }, make("b", {}, title), ` ${text}${view ? "" : " (This step is about a text that is not in this page.)"}`);
    line(document).append(words, back, make("span", {}, `${at + 1} / ${tour.length}`), on);
  };
  document.addEventListener("keydown", (event) => {
    const by = { PageDown: 1, PageUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    go(at + by);
  }, { signal: walking.signal });
  go(0);
}
