/** Elements without markup: text goes in as text. */
type Attributes = Record<string, string | number | boolean | null | undefined>;

export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") element.className = String(value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

const short: Record<string, string> = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };
const hex = (c: string) => c.charCodeAt(0).toString(16);
const escaped = (c: string) => short[c] ?? (c < "\u0100" ? `\\x${hex(c).padStart(2, "0")}` : `\\u${hex(c)}`);

/** Control characters would vanish, or turn the line round; written out they say that something is there. */
export function visible(text: string): string {
  if (text === "") return "∅";
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, escaped).replace(/^ | $/g, "␣");
}

/** What went wrong, as a sentence. */
export const sentenceOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export function number(value: number): string {
  return value.toLocaleString("en-US");
}

/** A weight as a reader wants it: three decimals, and never a false zero. */
export function weightText(weight: number): string {
  if (weight > 0 && weight < 0.0005) return "<0.001";
  return weight.toFixed(3);
}

/** Four significant digits for signed values of any size. */
export function valueText(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 10000 || size < 0.0005) return value.toExponential(2).replace("-", "−").replace("e−", "e-");
  return value.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 3).replace("-", "−");
}

/** Canvas whose pixels match the screen's. Returns the context, already scaled to CSS pixels. */
export function fit(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = pixelRatio();
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** Beyond two the difference is invisible, and drawing is slower. */
export const pixelRatio = () => Math.min(2, globalThis.devicePixelRatio || 1);

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page from disk or a frame may not reach the clipboard directly.
    const area = make("textarea", { class: "sr" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
