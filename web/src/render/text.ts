/** How wide a text will be in the page's own font. */
let measuring: CanvasRenderingContext2D | null = null;

export function textWidth(text: string, size: number): number {
  measuring ??= document.createElement("canvas").getContext("2d")!;
  measuring.font = `${size}px ui-sans-serif, system-ui, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, "Noto Sans CJK SC", sans-serif`;
  return measuring.measureText(text).width;
}
