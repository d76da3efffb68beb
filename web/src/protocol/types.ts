/**
 * The contract between Python and the browser: one container, one state, one host. What travels is described in
 * types.generated.ts.
 *
 * Container, little endian: bytes 0-3 "HSV1"; uint32 header length; header JSON (utf-8);
 * zero padding to 8; buffers back to back, each starting at a multiple of 8. `offset` in the
 * buffer table counts from the end of the padded header.
 *
 * In an HTML page the same container is one element:
 *
 *   <div data-headscope>
 *     <script type="application/json" data-header>{…, every "<" written as \u003c}</script>
 *     <script type="application/octet-stream" data-buffer="w0">base64 of the stored bytes</script>
 *   </div>
 *   <script type="module" nonce="…">the bundle, which mounts every [data-headscope] by itself</script>
 *
 * The app's page is <div data-headscope-app></div> and the app's own modules.
 */

import type { Header, Kind, State } from "./types.generated";

export * from "./types.generated";
/** The name of a folder of src/views, and of a file of views/ in Python. */
export type ViewName = string;

/** What is explained: the answer (null: the likeliest, or the token itself), another it is set against, and the token (null: the one that comes next). */
export interface Answer {
  target: string | null;
  rather: string | null;
  token: number | null;
}

/** A host's options for a mounted view. Page, widget and app each have one. */
export interface Source {
  header: Header;
  /** Stored bytes of a buffer named in header.buffers (still compressed). */
  buffer(name: string): Promise<Uint8Array>;
  /** A whole container whose single part holds that single layer; of a large one, at least that head. */
  fetchLayer?(kind: Kind, layer: number, head: number): Promise<ArrayBuffer | Uint8Array>;
  /** A container whose header has a prediction of this answer. */
  fetchPrediction?(answer: Answer): Promise<ArrayBuffer | Uint8Array>;
  /** Reads the text again with the word of this token masked. */
  maskWord?: (token: number) => void;
  /** A container whose header has that weighting. */
  fetchWeighting?(by: string, target: string | null): Promise<ArrayBuffer | Uint8Array>;
}

/** A query of a text in an atlas's corpus, to be seen with a head in a view. */
export interface TextPlace {
  document: number;
  query: number;
  kind: Kind;
  layer: number;
  head: number;
  view: ViewName;
}

export interface MountOptions {
  /** Called after the user changed something. */
  onState?(state: State): void;
  /** false: no tabs, the view stays what header.view says. */
  tabs?: boolean;
  /** Pixels the stage may fill; default: what the window has left below the controls. */
  height?: number;
  /** A second reading for the matrix view's difference, where it is not in the container itself. */
  other?: Source | null;
  /** It has no own controls: it follows another view's. */
  follows?: boolean;
  /** The view's frame fills the window (the app), with only its foot below. */
  fill?: boolean;
  /** Reads a text of the atlas's corpus and opens a head on it. */
  openText?: (place: TextPlace) => void;
}

/** mount(element, container | Source, options): what the bundle exports, and element.headscope. */
export interface Mounted {
  readonly state: State;
  /** Change what is on screen, as a click would. */
  set(change: Partial<State>): void;
  /** The weight as the page has it, whole tokens, specials shown. `head` may be any head of the layer. */
  weight(kind: Kind, layer: number, head: number, query: number, key: number): Promise<number>;
  /** Resolves when the first picture is painted (two animation frames after its marks were drawn). */
  readonly ready: Promise<void>;
  /** Counts pictures painted; each counted two animation frames after its marks were drawn. */
  readonly paints: number;
  /** Resolves when nothing is waiting to be drawn: the state now set is on screen. */
  painted(): Promise<void>;
  /** The picture as data: view, heads, tokens and their strongest numbers. */
  picture(): Record<string, unknown> | null;
  /** The line under the picture, e.g. "showing 1,240 of 262,144 lines, 93 % of the mass". */
  readonly status: string;
  unmount(): void;
}

/**
 * The live widget (anywidget). Traits: `container` (Bytes, the container, layers may be absent),
 * `state` (Dict, synced both ways; a partial State may be set from Python).
 * Custom messages: browser → kernel {type: "layer", id, kind, layer};
 * kernel → browser {type: "layer", id} with buffers[0] = container, or {type: "error", id, message}.
 */
export interface WidgetRequest {
  type: "layer";
  id: number;
  kind: Kind;
  layer: number;
  head: number;
}
export type WidgetReply =
  | { type: "layer"; id: number }
  | { type: "error"; id: number; message: string };
