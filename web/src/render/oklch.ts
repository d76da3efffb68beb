/** OKLCH ↔ sRGB, contrast, and how a colour looks with a colour-vision deficiency. */
export type Rgb = readonly [number, number, number]; // 0…255

const toGamma = (x: number) => (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055);
const toLinear = (x: number) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);

function linearFromOklab(L: number, a: number, b: number): [number, number, number] {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

/** Chroma is lowered until the colour fits sRGB, so that hue and lightness stay as requested. */
export function oklch(lightness: number, chroma: number, hue: number): Rgb {
  const angle = (hue * Math.PI) / 180;
  for (let c = chroma; ; c = Math.max(0, c - 0.004)) {
    const linear = linearFromOklab(lightness, c * Math.cos(angle), c * Math.sin(angle));
    if (c === 0 || linear.every((x) => x >= -0.0005 && x <= 1.0005)) {
      const [r, g, b] = linear.map((x) => Math.round(255 * toGamma(Math.min(1, Math.max(0, x)))));
      return [r, g, b];
    }
  }
}

export function oklabFromRgb(rgb: Rgb): [number, number, number] {
  const [r, g, b] = rgb.map((x) => toLinear(x / 255));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

export function distance(a: Rgb, b: Rgb): number {
  const [p, q] = [oklabFromRgb(a), oklabFromRgb(b)];
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

export function luminance(rgb: Rgb): number {
  const [r, g, b] = rgb.map((x) => toLinear(x / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a: Rgb, b: Rgb): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

/** Machado, Oliveira and Fernandes (2009), full severity, on linear light. */
const deficiencies = {
  protan: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deutan: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritan: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
} as const;
export type Deficiency = keyof typeof deficiencies;
export const allDeficiencies = Object.keys(deficiencies) as Deficiency[];

export function seenWith(deficiency: Deficiency, rgb: Rgb): Rgb {
  const m = deficiencies[deficiency];
  const [r, g, b] = rgb.map((x) => toLinear(x / 255));
  const seen = [0, 3, 6].map((row) => m[row] * r + m[row + 1] * g + m[row + 2] * b);
  const [x, y, z] = seen.map((v) => Math.round(255 * toGamma(Math.min(1, Math.max(0, v)))));
  return [x, y, z];
}

export const css = (rgb: Rgb) => `rgb(${rgb[0]} ${rgb[1]} ${rgb[2]})`;
