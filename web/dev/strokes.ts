/** The same lines through the canvas API and through our rasteriser, one after the other. */
import { Raster } from "../src/render/raster";

const [width, height] = [600, 640];

async function strokes(count: number): Promise<{ canvas: number; raster: number }> {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  document.body.append(canvas);
  const context = canvas.getContext("2d")!;
  const end = (i: number, step: number) => (i * step) % height;
  let start = performance.now();
  context.strokeStyle = "rgb(20 120 160)";
  for (let i = 0; i < count; i++) {
    context.globalAlpha = 0.05 + (i % 90) / 100;
    context.lineWidth = 1 + (i % 3);
    context.beginPath();
    context.moveTo(0, end(i, 37));
    context.lineTo(width, end(i, 91));
    context.stroke();
  }
  // Reading a pixel waits until everything has been drawn.
  context.getImageData(1, 1, 1, 1);
  const byCanvas = performance.now() - start;
  start = performance.now();
  const raster = new Raster(width, height, [255, 255, 255], [20, 120, 160]);
  for (let i = 0; i < count; i++) raster.line(0, end(i, 37), width, end(i, 91), 1 + (i % 3), [20, 120, 160], 0.05 + (i % 90) / 100);
  const image = context.createImageData(width, height);
  raster.copyTo(image.data);
  context.putImageData(image, 0, 0);
  context.getImageData(1, 1, 1, 1);
  const byRaster = performance.now() - start;
  canvas.remove();
  return Promise.resolve({ canvas: byCanvas, raster: byRaster });
}

Object.assign(globalThis, { strokes });
