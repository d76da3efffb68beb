/** Puts a view into an element, behind a shadow root, so that pages and views leave each other alone. */
import { createElement, render } from "preact";
import { Chrome } from "../instrument/chrome";
import { adoptStyle, takeIn } from "../instrument/definitions";
import { Instrument } from "../instrument/instrument";
import type { Options } from "../instrument/instrument";
import { openContainer } from "../protocol/container";
import type { MountOptions, Mounted, Source } from "../protocol/types";
import { make, sentenceOf } from "../render/dom";

export interface Host extends HTMLElement {
  headscope?: Mounted;
}

export function mount(element: HTMLElement, source: Source | ArrayBuffer | Uint8Array | DataView, options: MountOptions = {}): Instrument {
  const opened = source instanceof ArrayBuffer || ArrayBuffer.isView(source) ? openContainer(source) : source;
  return mountInto(element, opened, options, false).instrument;
}

/** `bare`: no title, caption and theme of its own, because the app around it has them. */
export function mountInto(element: HTMLElement, source: Source, options: Options, bare: boolean) {
  takeIn();
  const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
  adoptStyle(root);
  const frame = make("div", { class: bare ? "hs bare" : "hs", tabindex: -1, role: "region", "aria-label": `Attention of ${source.header.model}` });
  const chrome = make("div", { class: "chrome" });
  frame.append(chrome);
  root.replaceChildren(frame);
  const instrument = new Instrument(source, options, frame);
  render(createElement(Chrome, { instrument, bare }), chrome);
  const unmount = instrument.unmount.bind(instrument);
  instrument.unmount = () => {
    unmount();
    render(null, chrome);
    root.replaceChildren();
    delete (element as Host).headscope;
    element.classList.remove("hs-ready");
  };
  (element as Host).headscope = instrument;
  void instrument.ready.then(() => {
    if ((element as Host).headscope !== instrument) return;
    performance.mark("headscope painted");
    element.classList.add("hs-ready");
  });
  return { instrument, frame };
}

/** One sentence instead of a view that could not be opened. */
export function showError(element: HTMLElement, error: unknown): void {
  const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
  adoptStyle(root);
  root.replaceChildren(make("div", { class: "hs", role: "alert" }, make("div", { class: "message" }, make("strong", {}, sentenceOf(error)))));
}
