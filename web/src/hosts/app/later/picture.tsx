/** In a live page no server draws figures, so the stage itself is saved. */
import type { JSX } from "preact";
import type { Instrument } from "../../../instrument/instrument";
import type { Session } from "../session";

const scale = 2; // of a PNG: pixels a point

export function Pictures({ session }: { session: Session }): JSX.Element {
  const { mounted } = session;
  const save = (make: (svg: string, width: number, height: number) => Promise<Blob>, ending: string) => {
    if (!mounted) return;
    const { width, height } = mounted.stage.getBoundingClientRect();
    const { view, layer, head } = mounted.state;
    const name = [session.model, view, `${layer}-${head}`].join("-").replace(/[^\w.-]+/g, "_");
    void make(svgOf(mounted, width, height), width, height).then((blob) => download(blob, `${name}.${ending}`));
  };
  return (
    <>
      <button data-format="svg" disabled={!mounted} onClick={() => save((svg) => Promise.resolve(new Blob([svg], { type: "image/svg+xml" })), "svg")}>
        SVG figure
      </button>
      <button data-format="png" disabled={!mounted} onClick={() => save(pngOf, "png")}>
        PNG picture
      </button>
    </>
  );
}

/** The stage with the styles it has here; canvases become pictures, which any browser draws again. */
function svgOf({ stage, root }: Instrument, width: number, height: number): string {
  const drawn = stage.cloneNode(true) as HTMLElement;
  const canvases = stage.querySelectorAll("canvas");
  drawn.querySelectorAll("canvas").forEach((copy, at) => {
    const image = document.createElement("img");
    image.src = canvases[at].toDataURL();
    const { position, left, top, margin, display, width, height, opacity } = getComputedStyle(canvases[at]);
    Object.assign(image.style, { position, left, top, margin, display: display === "inline" ? "block" : display, width, height, opacity });
    copy.replaceWith(image);
  });
  const frame = root.cloneNode(false) as HTMLElement;
  const style = document.createElement("style");
  const { adoptedStyleSheets } = root.getRootNode() as ShadowRoot;
  style.textContent = adoptedStyleSheets.flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.cssText)).join("\n") + "*{scrollbar-width:none}";
  frame.append(style, drawn);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const body = document.createElementNS("http://www.w3.org/2000/svg", "foreignObject");
  for (const each of [svg, body]) {
    each.setAttribute("width", String(width));
    each.setAttribute("height", String(height));
  }
  body.append(frame);
  svg.append(body);
  return new XMLSerializer().serializeToString(svg);
}

async function pngOf(svg: string, width: number, height: number): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: width * scale, height: height * scale });
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser could not make the picture.")))));
}

function download(blob: Blob, name: string): void {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
