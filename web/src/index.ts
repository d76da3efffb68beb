/** The bundle of pages and notebooks: mounts what the page holds, and exports what a notebook or a script needs. */
import { mountPage } from "./hosts/page";
import widget from "./hosts/widget";

export { mount } from "./hosts/mount";
export default widget;

mountPage(document);
