/** What the app is looking at: model, texts, heads switched off, the reading; mirrored in the address. */
import { openContainer } from "../../protocol/container";
import type { AppHeader, Example, Kind, ModelsReply, OffHead, ReadRequest, Source, State, Theme } from "../../protocol/types";
import { fromQuery, toQuery } from "../../state/url";
import { ApiError, getBytes, getJson, postBytes } from "./api";

export type Phase = "starting" | "empty" | "loading" | "ready" | "error" | "too-long";

export interface Reading {
  id: string;
  source: Source;
  /** The reading it is compared with, and what that is. */
  other: { source: Source; title: string } | null;
}

/** Compared with the same model, every head on. */
export const allOn = "all-on";

export class Session {
  phase: Phase = "starting";
  message = "";
  tooLong: { tokens: number; limit: number } | null = null;
  models: ModelsReply | null = null;
  model = "";
  text = "";
  pair = "";
  off: OffHead[] = [];
  /** A model's id, or allOn, or nothing. */
  against = "";
  reading: Reading | null = null;
  theme: Theme = "auto";
  state: Partial<State>;
  private ticket = 0;
  private readonly listeners = new Set<() => void>();
  private urlTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(address: URLSearchParams) {
    this.model = address.get("model") ?? "";
    this.text = address.get("text") ?? "";
    this.pair = address.get("pair") ?? "";
    this.off = readOff(address.get("off") ?? "");
    this.against = address.get("against") ?? "";
    this.state = fromQuery(address);
    this.theme = this.state.theme ?? "auto";
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  tell(): void {
    for (const listener of [...this.listeners]) listener();
  }

  async start(): Promise<void> {
    try {
      this.models = await getJson<ModelsReply>("api/models");
    } catch (error) {
      return this.fail(error);
    }
    const known = this.models.models.some((each) => each.id === this.model);
    if (!known) this.model = this.models.default;
    const [first] = this.models.examples;
    if (this.against !== allOn && !this.models.models.some((each) => each.id === this.against)) this.against = "";
    if (this.text) await this.read();
    else if (first) await this.useExample(first);
    else this.settle("empty");
  }

  async useExample(example: Example): Promise<void> {
    if (example.model) this.model = example.model;
    this.text = example.text;
    this.pair = example.text_pair ?? "";
    this.off = [];
    this.state = { ...kept(this.state, ["view", "theme"]), ...example.state };
    await this.read();
  }

  /** Reads the text as it stands; what was on screen stays until the new reading is here. */
  async read(truncate = false): Promise<void> {
    const ticket = ++this.ticket;
    if (!this.text.trim()) return this.settle("empty");
    this.settle("loading");
    try {
      const source = await this.ask(this.model, this.off, truncate);
      if (this.against === allOn && !this.off.length) this.against = "";
      const other = this.against ? await this.ask(this.against === allOn ? this.model : this.against, [], truncate) : null;
      if (ticket !== this.ticket) return;
      source.header.state = { ...source.header.state, ...this.state, theme: this.theme };
      if (other) other.header.state = source.header.state;
      const title = this.against === allOn ? "every head on" : this.titleOf(this.against);
      this.reading = { id: (source.header as AppHeader).id, source, other: other && { source: other, title } };
      this.settle("ready");
    } catch (error) {
      if (ticket === this.ticket) this.fail(error);
    }
  }

  titleOf(model: string): string {
    return this.models?.models.find((each) => each.id === model)?.title ?? model;
  }

  private async ask(model: string, off: OffHead[], truncate: boolean): Promise<Source> {
    const request: ReadRequest = {
      model,
      text: this.text,
      text_pair: this.pair.trim() ? this.pair : null,
      off,
      layer: this.state.layer ?? null,
      ...(truncate ? { truncate } : {}),
    };
    const source = openContainer(await postBytes("api/read", request));
    const { id } = source.header as AppHeader;
    source.fetchLayer = async (kind: Kind, layer: number, head: number) => {
      try {
        return await getBytes(`api/reading/${encodeURIComponent(id)}/layer/${kind}/${layer}?head=${head}`);
      } catch (error) {
        // The server has let this reading go, or was started anew: read the text again.
        if (error instanceof ApiError && error.status === 404 && this.reading?.id === id) void this.read(truncate);
        throw error;
      }
    };
    return source;
  }

  /** A new text or model: tokens and heads of the old selection mean nothing there. */
  forget(): void {
    this.state = kept(this.state, ["view", "theme", "unit", "specials", "scale", "layout", "minimum"]);
    this.off = [];
  }

  isOff(kind: Kind, layer: number, head: number): boolean {
    return this.off.some(([k, l, h]) => k === kind && l === layer && h === head);
  }

  async switchHead(kind: Kind, layer: number, head: number): Promise<void> {
    this.off = this.isOff(kind, layer, head) ? this.off.filter(([k, l, h]) => k !== kind || l !== layer || h !== head) : [...this.off, [kind, layer, head]];
    await this.read();
  }

  /** The address follows the picture, so that a link reopens it. */
  follow(state: State): void {
    this.state = state;
    clearTimeout(this.urlTimer);
    this.urlTimer = setTimeout(() => history.replaceState(null, "", this.address()), 150);
  }

  address(): string {
    const query = new URLSearchParams({ model: this.model, text: this.text });
    if (this.pair.trim()) query.set("pair", this.pair);
    if (this.against) query.set("against", this.against);
    if (this.off.length) query.set("off", this.off.map((each) => each.join(".")).join("_"));
    const state = this.stateQuery();
    for (const [name, value] of state) query.set(name, value);
    return `${location.pathname}?${query.toString()}`;
  }

  stateQuery(): URLSearchParams {
    return toQuery({ ...(this.state as State), theme: this.theme });
  }

  private settle(phase: Phase): void {
    this.phase = phase;
    this.tell();
  }

  private fail(error: unknown): void {
    this.message = error instanceof Error ? error.message : String(error);
    const detail = error instanceof ApiError ? error.detail : null;
    this.tooLong = detail?.tokens && detail.limit ? { tokens: detail.tokens, limit: detail.limit } : null;
    this.settle(this.tooLong ? "too-long" : "error");
  }
}

/** Those entries that were set: an absent one must stay absent, so that the default can take its place. */
function kept(state: Partial<State>, names: (keyof State)[]): Partial<State> {
  return Object.fromEntries(names.filter((name) => state[name] !== undefined).map((name) => [name, state[name]]));
}

function readOff(text: string): OffHead[] {
  return text
    .split("_")
    .map((each) => each.split("."))
    .filter(([kind, layer, head]) => ["encoder", "decoder", "cross"].includes(kind) && /^\d+$/.test(layer ?? "") && /^\d+$/.test(head ?? ""))
    .map(([kind, layer, head]) => [kind as Kind, Number(layer), Number(head)]);
}
