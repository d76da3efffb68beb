/** While the user looks, the layers around are made ready: the next step then only draws. */
import { isHere } from "../protocol/layer";
import type { Reading } from "../protocol/reading";
import type { State } from "../protocol/types";
import { headsOn } from "../state/state";

/** Decoded layers kept ahead of need, in bytes; a file of any length stays affordable. */
const budget = 96 * 2 ** 20;
/** Larger maps are fetched only when needed. */
const mapLimit = 1100 * 1100;

const idle = (act: () => void): (() => void) => {
  // Safari has none.
  if (typeof globalThis.requestIdleCallback === "function") {
    const handle = requestIdleCallback(act, { timeout: 2000 });
    return () => cancelIdleCallback(handle);
  }
  const handle = setTimeout(act, 60);
  return () => clearTimeout(handle);
};

/** Starts over for a new state; the answer stops it. */
export function prefetch(reading: Reading, state: State): () => void {
  if (!reading.parts.length) return () => undefined;
  const part = reading.part(state.kind);
  const at = part.layers.indexOf(state.layer);
  const around: number[] = [];
  for (let step = 1; step < part.layers.length; step++) {
    for (const index of [at + step, at - step]) {
      const layer = part.layers[index];
      // What must come over a wire is fetched only when it is likely to be next.
      if (layer !== undefined && (step === 1 || isHere(part.per_layer[index]))) around.push(layer);
    }
  }
  const heads = headsOn(state, part).slice(0, 2);
  const size = part.query.text.length * (part.key ?? part.query).text.length;
  let stopped = false;
  let cancel = () => undefined as void;
  let bytes = 0;
  const next = () => {
    const layer = around.shift();
    if (stopped || layer === undefined || bytes > budget) return;
    cancel = idle(() => {
      void reading
        .layer(state.kind, layer, heads[0] ?? state.head)
        .then(async (data) => {
          bytes += data.bytes;
          if (Math.abs(part.layers.indexOf(layer) - at) > 2 || size > mapLimit) return;
          for (const head of heads) if (!stopped) await reading.map(state.kind, layer, head);
        })
        // A missing layer is reported when it is needed.
        .catch(() => undefined)
        .then(next);
    });
  };
  next();
  return () => {
    stopped = true;
    cancel();
  };
}
