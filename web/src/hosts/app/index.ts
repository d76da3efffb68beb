/** The app's own bundle: its page holds one element for it. */
import { mountApp } from "./app";

for (const element of document.querySelectorAll<HTMLElement>("[data-headscope-app]")) if (!element.shadowRoot) mountApp(element);
