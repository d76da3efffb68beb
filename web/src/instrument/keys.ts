/** One key, one meaning, in every view. */
import type { Instrument } from "./instrument";
import { headsOn, layersOf } from "../state/state";

export const keyList: [string, string][] = [
  ["↑ ↓", "previous layer, next layer"],
  ["← →", "previous head, next head"],
  ["hover", "look: the token's lines, exact numbers"],
  ["click", "pin what is looked at; again to let go"],
  ["double-click", "show one head alone; once more shows all"],
  ["Esc", "clear what is pinned"],
  ["/", "find a token"],
  ["n  p", "next, previous token"],
  ["+ − 0", "matrix: zoom in, out, show the whole"],
  ["c", "copy the selected numbers"],
  ["Tab", "into the picture: arrows move from token to token or cell to cell and say it, Enter pins"],
  ["?", "this list"],
];

/** The instrument that answers keys when nothing on the page has the focus. */
let touched: Instrument | null = null;

export function listenToKeys(instrument: Instrument): () => void {
  const { root } = instrument;
  touched ??= instrument;
  const touch = () => (touched = instrument);
  const onRoot = (event: KeyboardEvent) => handle(instrument, event);
  const onDocument = (event: KeyboardEvent) => {
    const elsewhere = instrument.options.fill ? !event.composedPath().includes(root) : event.target === document.body;
    if (touched === instrument && elsewhere) handle(instrument, event);
  };
  root.addEventListener("pointerenter", touch);
  root.addEventListener("focusin", touch);
  root.addEventListener("keydown", onRoot);
  document.addEventListener("keydown", onDocument);
  return () => {
    root.removeEventListener("pointerenter", touch);
    root.removeEventListener("focusin", touch);
    root.removeEventListener("keydown", onRoot);
    document.removeEventListener("keydown", onDocument);
    if (touched === instrument) touched = null;
  };
}

function handle(instrument: Instrument, event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.composedPath()[0] as HTMLElement;
  const typing = target.tagName === "TEXTAREA" || (target.tagName === "INPUT" && ["text", "search"].includes((target as HTMLInputElement).type));
  if (instrument.notice.help) return;
  if (event.key === "Escape") {
    instrument.clear();
    if (typing) target.blur();
    return;
  }
  const own = target.tagName === "SELECT" || (target.tagName === "BUTTON" && event.key === "Enter") || (target.tagName === "INPUT" && event.key.startsWith("Arrow"));
  if (typing || own) return;
  if (act(instrument, event.key)) event.preventDefault();
}

function act(instrument: Instrument, key: string): boolean {
  if (instrument.viewKey(key)) return true;
  switch (key) {
    case "ArrowUp":
      return moveLayer(instrument, -1);
    case "ArrowDown":
      return moveLayer(instrument, 1);
    case "ArrowLeft":
      return moveHead(instrument, -1);
    case "ArrowRight":
      return moveHead(instrument, 1);
    case "Enter":
      if (!instrument.definitionNow().overview) return false;
      instrument.set({ view: "head" });
      return true;
    case "n":
      instrument.step(1);
      return true;
    case "p":
      instrument.step(-1);
      return true;
    case "c":
      instrument.copy();
      return true;
    case "/":
      instrument.notice.set({ finding: true, help: false });
      return true;
    case "?":
      instrument.notice.set({ help: !instrument.notice.help, finding: false });
      return true;
  }
  if (/^[1-9]$/.test(key)) {
    const tab = instrument.tabs()[Number(key) - 1];
    if (tab) instrument.set({ view: tab.name });
    return Boolean(tab);
  }
  return false;
}

function moveLayer({ store }: Instrument, by: number): boolean {
  const layers = layersOf(store.header, store.state.kind);
  const next = layers[layers.indexOf(store.state.layer) + by];
  if (next !== undefined) store.set({ layer: next, marked: [] });
  return true;
}

/** With one head on, the next one replaces it; with several, only the selected head moves. */
function moveHead(instrument: Instrument, by: number): boolean {
  const { store, reading } = instrument;
  if (!reading.parts.length) return false;
  const part = reading.part(store.state.kind);
  const on = headsOn(store.state, part);
  const from = on.length === 1 && !instrument.definitionNow().overview ? on[0] : store.state.head;
  const columns = store.state.view === "model" && store.state.columns?.length ? store.state.columns : Array.from({ length: part.heads }, (_, each) => each);
  const head = columns[(Math.max(0, columns.indexOf(from)) + by + columns.length) % columns.length];
  store.set({ head, heads: [head], marked: [] });
  return true;
}
