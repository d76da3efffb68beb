/** An HTML file: every [data-headscope] element carries its own container in script elements. */
import { openElement } from "../protocol/container";
import type { Mounted } from "../protocol/types";
import { mount, showError } from "./mount";

/** Beside these a page of ours has nothing in its body, so its ground may follow the view's theme. */
const own = "[data-headscope], script, noscript, style";

export function mountPage(document: Document): void {
  const wholly = [...document.body.children].every((child) => child.matches(own));
  for (const element of document.querySelectorAll<HTMLElement>("[data-headscope]")) {
    if (element.shadowRoot) continue;
    try {
      const height = Number(element.dataset["height"]) || undefined;
      const mounted = mount(element, openElement(element), { height, onState: () => wholly && follow(document, mounted) });
      if (wholly) follow(document, mounted);
    } catch (error) {
      showError(element, error);
    }
  }
}

/** The browser paints the ground around the views: dark when they are. */
function follow(document: Document, { state }: Mounted): void {
  document.documentElement.style.colorScheme = state.theme === "auto" ? "light dark" : state.theme;
}
