/** A page's tour, its own or a dropped file, as slides: the picture of each step and its caption, without what stands around. */
import { adoptStyle } from "../instrument/definitions";
import type { Instrument } from "../instrument/instrument";
import { tourOf } from "../state/tour";
import type { Step } from "../state/tour";
import { make, sentenceOf } from "../render/dom";
import { fromQuery } from "../state/url";
import style from "./page_tour.css";

/** A view of the page, and the line that says its model and text. */
export interface Told {
  element: HTMLElement;
  view: Instrument;
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
function viewOf(views: Told[], address: URLSearchParams): Told | null {
  const text = (address.get("text") ?? "").slice(0, 20);
  return views.find(({ caption }) => caption.includes(text)) ?? null;
}

/** The line of a tour lies under the views, in a shadow of its own. */
function line(document: Document): HTMLElement {
  const host = document.querySelector("[data-headscope-steps]") ?? document.body.appendChild(make("div", { "data-headscope-steps": "" }));
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  adoptStyle(root);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  root.adoptedStyleSheets.push(sheet);
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
  let shown = views[0];
  let presented = true;
  walking.abort(); // another tour takes the keys of the one before
  walking = new AbortController();
  const draw = () => {
    const { title, text, address } = tour[at];
    const own = viewOf(views, new URLSearchParams(address));
    const caption = line(document);
    const button = (control: string, label: string, sign: string, press: () => void) => {
      const made = make("button", { class: "button", "data-control": control, "aria-label": label, title: label }, sign);
      made.addEventListener("click", press);
      return made;
    };
    const back = button("tour-back", "Previous step", "‹", () => go(at - 1));
    const on = button("tour-on", "Next step", "›", () => go(at + 1));
    back.disabled = at === 0;
    on.disabled = at === tour.length - 1;
    const leave = presented ? button("leave-present", "Leave present mode", "×", turn) : button("present", "Present", "present", turn);
    leave.title += "  Shift+P";
    const words = make("p", { "aria-live": "polite" }, make("b", {}, title), ` ${text}${own ? "" : " (This step is about a text that is not in this page.)"}`);
    caption.append(words, back, make("span", {}, `${at + 1} / ${tour.length}`), on, leave);
    for (const { element, view } of views) {
      element.hidden = presented && view !== shown.view;
      view.options.below = () => caption.offsetHeight + (presented ? -20 : 32);
      view.notice.alone = presented;
    }
  };
  const go = (to: number) => {
    if (!tour[to]) return;
    at = to;
    const query = new URLSearchParams(tour[at].address);
    const own = viewOf(views, query);
    shown = own ?? shown;
    own?.view.set({ query: null, key: null, heads: null, ...fromQuery(query), theme: own.view.state.theme });
    draw();
  };
  const turn = () => {
    presented = !presented;
    draw();
  };
  document.addEventListener("keydown", (event) => {
    const typing = /^(TEXTAREA|INPUT|SELECT)$/.test((event.composedPath()[0] as HTMLElement).tagName ?? "");
    const by = { PageDown: 1, PageUp: -1 }[event.key];
    if (by) go(at + by);
    else if (event.key === "P" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) turn();
    else return;
    event.preventDefault();
  }, { signal: walking.signal });
  go(0);
}
