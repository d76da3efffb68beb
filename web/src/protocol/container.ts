/** One container of bytes → a Source: its header, and its buffers by name. */
import { fromBase64 } from "./decode";
import type { Header, Source } from "./types";

const magic = 0x31565348; // "HSV1", little endian

export function openContainer(data: ArrayBuffer | Uint8Array | DataView): Source {
  const bytes =
    data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 8 || view.getUint32(0, true) !== magic) {
    throw new Error("This is not headscope view data: it does not begin with HSV1.");
  }
  const length = view.getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length))) as Header;
  const start = Math.ceil((8 + length) / 8) * 8;
  return {
    header: checked(header),
    buffer(name) {
      const entry = header.buffers[name];
      if (!entry) return Promise.reject(new Error(`This view's data has no buffer named ${name}.`));
      return Promise.resolve(bytes.subarray(start + entry.offset, start + entry.offset + entry.bytes));
    },
  };
}

/** The same container spread over script elements of a page, each decoded on use. */
export function openElement(element: Element): Source {
  const script = element.querySelector("script[data-header]");
  if (!script) throw new Error("This element holds no headscope header.");
  const header = JSON.parse(script.textContent ?? "") as Header;
  const stored = new Map<string, Element>();
  for (const each of element.querySelectorAll("script[data-buffer]")) stored.set(each.getAttribute("data-buffer") ?? "", each);
  return {
    header: checked(header),
    buffer(name) {
      const found = stored.get(name);
      if (!found) return Promise.reject(new Error(`This page has no buffer named ${name}.`));
      return Promise.resolve(fromBase64((found.textContent ?? "").trim()));
    },
  };
}

function checked(header: Header): Header {
  if (header.version !== 1) {
    throw new Error(`This view's data has version ${String(header.version)}; this page reads version 1.`);
  }
  return header;
}
