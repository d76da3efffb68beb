/** Where every unit sits: rows down the page, or words along a line. */
import type { Group } from "../../protocol/spans";
import type { Unit } from "../../protocol/units";
import { textWidth } from "../../render/text";

export interface Geometry {
  vertical: boolean;
  /** Right-to-left text: sides (vertical) or reading order (horizontal) swapped. */
  mirrored: boolean;
  /** Centres and extents along the main axis. */
  query: Float32Array;
  key: Float32Array;
  queryExtent: Float32Array;
  keyExtent: Float32Array;
  /** Length of the main axis. */
  length: number;
  fontSize: number;
  /** Room for a token's text across the main axis. */
  text: number;
  /** Room for the bars beyond it. */
  bars: number;
  /** Length of the lines' gap and where it begins, across the main axis. */
  gap: number;
  start: number;
  /** Size of everything across the main axis. */
  across: number;
  /** Room for a span's heading: above its tokens (vertical), or outside everything else. */
  heading: number;
}

/** Few tokens get room and size, as far as they fill the height there is; many get density. */
function rowHeight(count: number, tall: number): [number, number] {
  const room = Math.floor(tall / Math.max(1, count));
  if (room >= 54) return [Math.min(room, 72), 24];
  if (room >= 32) return [room, 20];
  if (room >= 22) return [room, 15];
  return count <= 64 ? [22, 15] : [19, 13];
}

export type Spans = Record<"query" | "key", Group[]>;

export function rows(query: Unit[], key: Unit[], spans: Spans, width: number, tall: number, mirrored: boolean, crops: boolean): Geometry {
  const count = Math.max(query.length + spans.query.length, key.length + spans.key.length);
  const [height, size] = rowHeight(count, tall);
  const narrow = width < 460;
  const fontSize = narrow ? Math.min(size, 15) : size;
  const place = (units: number, groups: Group[]) => {
    let above = 0;
    return Float32Array.from({ length: units }, (_, i) => {
      if (groups[above]?.start === i) above++;
      return (i + above + 0.5) * height;
    });
  };
  const longest = longestText([...query, ...key], fontSize);
  const bars = width > 620 ? 132 : narrow ? 44 : 76;
  const text = Math.round(Math.min(longest + 18 + (crops ? height + 6 : 0), Math.max(crops ? 76 + height : 70, width * (narrow ? 0.28 : 0.24))));
  const gap = Math.round(Math.max(narrow ? 60 : 90, Math.min(760, width - 2 * (text + bars) - 24)));
  const across = 2 * (text + bars) + gap;
  const start = Math.max(0, Math.floor((width - across) / 2)) + bars + text;
  const extent = (count: number) => new Float32Array(count).fill(height);
  return {
    vertical: true,
    mirrored,
    query: place(query.length, spans.query),
    key: place(key.length, spans.key),
    queryExtent: extent(query.length),
    keyExtent: extent(key.length),
    length: count * height,
    fontSize,
    text,
    bars,
    gap,
    start,
    across,
    heading: height,
  };
}

/** Measuring every one of thousands of texts is slow; the longest strings are the widest but for a hair. */
function longestText(units: Unit[], size: number): number {
  const texts = [...new Set(units.map((unit) => unit.text))].sort((a, b) => b.length - a.length).slice(0, 40);
  return texts.reduce((widest, text) => Math.max(widest, textWidth(text, size)), 0);
}

export function line(query: Unit[], key: Unit[], spans: Spans, width: number, height: number, mirrored: boolean): Geometry {
  const fontSize = 15;
  const extents = (units: Unit[]) => Float32Array.from(units, (unit) => Math.ceil(textWidth(unit.text, unit.special ? fontSize * 0.8 : fontSize)) + (unit.continues ? 8 : 14));
  const sizes = [extents(query), extents(key)];
  const length = Math.max(...sizes.map((each) => each.reduce((sum, size) => sum + size, 0))) + 24;
  const total = Math.max(length, width);
  const centres = (extent: Float32Array) => {
    let at = (total - extent.reduce((sum, size) => sum + size, 0)) / 2;
    return extent.map((size) => {
      const centre = at + size / 2;
      at += size;
      return mirrored ? total - centre : centre;
    });
  };
  const [text, bars] = [30, 46];
  const heading = spans.query.length + spans.key.length ? 20 : 0;
  const start = text + bars + heading;
  const gap = Math.max(160, Math.min(360, height - 2 * start));
  return {
    vertical: false,
    mirrored,
    query: centres(sizes[0]),
    key: centres(sizes[1]),
    queryExtent: sizes[0],
    keyExtent: sizes[1],
    length: total,
    fontSize,
    text,
    bars,
    gap,
    start,
    across: 2 * start + gap,
    heading,
  };
}
