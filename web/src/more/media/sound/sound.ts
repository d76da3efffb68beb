/** The sound view: a spectrogram for each head, shaded by the attention of the selected word or frame. */
import { placeKinds } from "../../../protocol/places";
import type { Places } from "../../../protocol/places";
import { make, visible, weightText } from "../../../render/dom";
import type { Shade } from "../../../render/palette";
import { ImageView } from "../image/image";
import type { Scale } from "../image/image";
import type { Side } from "../../../views/text/weights";
import type { Context } from "../../../views/view";

const height = 64;

/** Six to fifteen ticks, at round times; the figure follows the same rule. */
export function tickStep(seconds: number): number {
  return [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60].find((step) => seconds / step <= 15) ?? 120;
}

/** Moments as regions of the spectrogram: seconds across, all frequencies or the patch's own upwards. */
export function inSpectrogram(places: Places, seconds: number, rows: number): Places {
  const count = places.kinds.length;
  const made = { ...places, kinds: places.kinds.slice(), rectangles: new Float32Array(4 * count).fill(NaN), pictures: new Float32Array(count).fill(-1) };
  const frames = Array.from(places.kinds.keys()).filter((i) => places.kinds[i] === placeKinds.frame);
  const across = rows > 1 ? frames.length / rows : frames.length;
  frames.forEach((i, at) => {
    const [start, end] = [places.seconds[2 * i], places.seconds[2 * i + 1]];
    if (start >= seconds) return;
    const row = Math.floor(at / across);
    const [top, bottom] = [height * (1 - (row + 1) / rows), height * (1 - row / rows)];
    made.rectangles.set([start, top, Math.min(end, seconds), bottom], 4 * i);
    made.pictures[i] = 0;
    made.kinds[i] = placeKinds.patch;
  });
  for (const i of frames) if (made.kinds[i] === placeKinds.frame) made.kinds[i] = placeKinds.patch;
  return made;
}

/** How many rows of patches lie over each other: how often the first moment begins again. */
function rowsOf(places: Places): number {
  const frames = Array.from(places.kinds.keys()).filter((i) => places.kinds[i] === placeKinds.frame);
  return Math.max(1, frames.filter((i) => places.seconds[2 * i] === places.seconds[2 * frames[0]]).length);
}

export class SoundView extends ImageView {
  private readonly lane = make("div", { class: "sd-lane", role: "group", "aria-label": "words when they are heard" });

  private readonly drawn: Partial<Record<Shade, Promise<HTMLCanvasElement>>> = {};

  constructor(context: Context) {
    super(context);
    this.element.classList.add("sd");
    this.element.prepend(this.lane);
    this.lane.addEventListener("click", (event) => {
      const at = this.wordAt(event);
      if (at !== null && this.state.side === "query") this.choose(at, event.shiftKey);
    });
  }

  private get sound() {
    return this.context.reading.header.sound!;
  }

  protected override get pictures(): { width: number; height: number }[] {
    return [{ width: this.sound.seconds, height }];
  }

  protected override bitmap(): Promise<HTMLCanvasElement> {
    const shade = this.context.shade();
    const [silence, loud] = shade === "dark" ? [24, 200] : [255, 64];
    return (this.drawn[shade] ??= this.context.reading.spectrogram().then(({ codes, bands, moments }) => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [moments, bands];
      const context = canvas.getContext("2d")!;
      const image = context.createImageData(moments, bands);
      for (let band = 0; band < bands; band++) {
        for (let at = 0; at < moments; at++) {
          const grey = silence + ((loud - silence) * codes[band * moments + at]) / 255;
          image.data.set([grey, grey, grey, 255], 4 * ((bands - 1 - band) * moments + at));
        }
      }
      context.putImageData(image, 0, 0);
      return canvas;
    }));
  }

  protected override async placesOf(side: Side): Promise<Places | null> {
    const places = await this.context.reading.places(this.state.kind, side);
    return places && inSpectrogram(places, this.sound.seconds, rowsOf(places));
  }

  protected override arrange(count: number, width: number, tall: number): { columns: number; across: number; scale: Scale } {
    const across = Math.min(width, 1100);
    const each = Math.max(56, Math.min(240, (tall - 40) / count - 46));
    this.element.style.setProperty("--across", `${across}px`);
    queueMicrotask(() => this.label(across));
    return { columns: 1, across, scale: { x: across / this.sound.seconds, y: each / height } };
  }

  protected override told(share: number, strongest: number): string {
    return `${Math.round(100 * share)} % on the sound, strongest moment ${weightText(strongest)}`;
  }

  /** Words over the first strip at their times, seconds under each. */
  private label(across: number): void {
    const { seconds, words } = this.sound;
    const hand = this.hand();
    const scale = across / seconds;
    this.lane.hidden = !words.length || this.state.kind !== "cross";
    this.lane.replaceChildren(
      ...words.map(({ text, tokens: [first, end], start, end: last }) => {
        const button = make("button", { type: "button", "data-at": first, title: `“${visible(text)}” ${start.toFixed(2)} to ${last.toFixed(2)} s` }, visible(text));
        button.style.left = `${start * scale}px`;
        button.style.width = `${Math.max(2, (last - start) * scale)}px`;
        button.classList.toggle("narrow", 6.5 * text.length > (last - start) * scale);
        if (hand.side === "query" && hand.units.some((at) => at >= first && at < end)) button.classList.add("in-hand");
        return button;
      }),
    );
    const room = Math.max(3, Math.min(15, across / 48));
    const step = tickStep((seconds * 15) / room);
    for (const { canvas } of this.panels) {
      if (canvas.nextElementSibling?.classList.contains("sd-axis")) canvas.nextElementSibling.remove();
      const axis = make("div", { class: "sd-axis", "aria-hidden": "true" });
      for (let at = 0; at * step < seconds * 0.98; at++) {
        const tick = make("span", {}, `${Number((at * step).toFixed(2))} s`);
        tick.style.left = `${at * step * scale}px`;
        axis.append(tick);
      }
      canvas.after(axis);
    }
  }
}
