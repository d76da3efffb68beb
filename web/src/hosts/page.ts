/** An HTML file: every [data-headscope] element carries its own container in script elements. */
import { openElement } from "../protocol/container";
import { mount, showError } from "./mount";

export function mountPage(document: Document): void {
  for (const element of document.querySelectorAll<HTMLElement>("[data-headscope]")) {
    if (element.shadowRoot) continue;
    try {
      const height = Number(element.dataset["height"]) || undefined;
      mount(element, openElement(element), { height });
    } catch (error) {
      showError(element, error);
    }
  }
}
