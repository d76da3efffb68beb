/** An HTML file: every [data-headscope] element carries its own container in script elements. */
import { openElement } from "../protocol/container";
import type { Mounted } from "../protocol/types";
import { fromQuery, toQuery } from "../state/url";
import { mount, showError } from "./mount";
import { tourIn } from "./page_tour";
import type { Told } from "./page_tour";

/** Beside these a page of ours has nothing in its body, so its ground may follow the view's theme. */
const own = "[data-headscope], h1, script, noscript, style";

export function mountPage(document: Document): void {
  const wholly = [...document.querySelectorAll("body > :not(main), main > *")].every((child) => child.matches(own));
  const elements = document.querySelectorAll<HTMLElement>("[data-headscope]");
  const shown: Told[] = [];
  for (const element of elements) {
    if (element.shadowRoot) continue;
    try {
      const height = Number(element.dataset["height"]) || undefined;
      const source = openElement(element);
      const linked = elements.length === 1;
      if (linked) source.header.state = { ...source.header.state, ...fromQuery(new URLSearchParams(location.hash.slice(1))) };
      const onState = () => {
        if (wholly) follow(document, mounted);
        if (linked) write(mounted);
      };
      const mounted = mount(element, source, { height, onState });
      shown.push({ element, view: mounted, caption: source.header.caption ?? "" });
      if (wholly) follow(document, mounted);
    } catch (error) {
      showError(element, error);
    }
  }
  if (shown.length) tourIn(document, shown);
}

let timer: ReturnType<typeof setTimeout> | undefined;

/** A page of one view keeps what is on screen in its address, so that a link reopens it. */
function write({ state }: Mounted): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    try {
      history.replaceState(null, "", `#${toQuery(state).toString()}`);
    } catch {
      // A frame without an address of its own has none to write.
    }
  }, 150);
}

/** The browser paints the ground around the views: dark when they are. */
function follow(document: Document, { state }: Mounted): void {
  document.documentElement.style.colorScheme = state.theme === "auto" ? "light dark" : state.theme;
}
