/** The bundle: mounts what the page holds, and exports what a notebook or a script needs. */
import { mountApp } from "./hosts/app/app";
import { mountPage } from "./hosts/page";
import widget from "./hosts/widget";

export { mount } from "./hosts/mount";
export default widget;

mountPage(document);
for (const element of document.querySelectorAll<HTMLElement>("[data-headscope-app]")) if (!element.shadowRoot) mountApp(element);
