/** What the app is looking at: model, texts, heads switched off, the reading; mirrored in the address. */
import type { AppHeader, Comparison, Example, MediaRequest, ModelsReply, StartReply, Writing } from "../../protocol/app";
import type { Kind, Source, State } from "../../protocol/types";
import { sentenceOf } from "../../render/dom";
import type { Tooltip } from "../../render/tooltip";
import { Following, kept, lasting } from "../../state/lasting";
import { readOff, writeOff } from "../../state/off";
import { Newest } from "../../state/signal";
import { fromQuery, toQuery } from "../../state/url";
import { Known } from "./server/known";
import type { Phase, Reading, Wanted } from "./server/known";
import { sourceOf } from "./server/source";
import { Waiting } from "./waiting";
import { ApiError, getJson, postJson } from "./server/api";

/** Compared with the same model, every head on; or with the same model reading another text. */
export const allOn = "all-on";
export const anotherText = "another-text";

/** Tokens asked for at once, so that the text is seen to grow; and until the model rests. */
const atOnce = 4;
const atMost = 24;

export class Session extends Known {
  /** Where terms say what they mean. */
  tips: Tooltip | null = null;
  /** What the next reading opens with: while one is coming, only what lasts of the picture before it. */
  state: Partial<State>;
  readonly following = new Following();
  /** What was asked for last; everything that waits for something older is aborted. */
  readonly work = new Newest();
  private urlTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(address: URLSearchParams) {
    super();
    this.model = address.get("model") ?? "";
    this.text = address.get("text") ?? "";
    this.pair = address.get("pair") ?? "";
    this.off = readOff(address.get("off") ?? "");
    this.against = address.get("against") ?? "";
    this.againstText = address.get("against_text") ?? "";
    if (address.get("pairing") === "likeness") this.pairing = "likeness";
    this.state = fromQuery(address);
    this.theme = this.state.theme ?? "auto";
  }

  async start(): Promise<void> {
    this.settle("starting");
    void this.watchStart();
    try {
      this.models = await getJson<ModelsReply>("api/models");
    } catch (error) {
      return this.fail(error);
    }
    const asked = this.model;
    const known = this.models.models.some((each) => each.id === asked);
    if (!known) this.model = this.models.default;
    if (!known && asked) return this.fail(new Error(`This app has no model ${asked}; choose another, or start it with: headscope app --model ${asked}`));
    const first = this.examples()[0];
    if (this.against !== allOn && this.against !== anotherText && !this.models.models.some((each) => each.id === this.against)) this.against = "";
    if (this.senses) await this.useMedia(this.media ?? this.mediaExamples()[0] ?? null);
    else if (this.text) await this.read(false, true);
    else if (first) await this.useExample(first);
    else this.settle("empty");
  }

  /** Reads a picture or a sound, with what stands in the box where the model reads text as well. */
  async useMedia(media: MediaRequest | null): Promise<void> {
    this.media = media;
    this.forget();
    if (media) return this.read(false, true);
    this.begin();
    this.settle("empty");
  }

  /** Another model: what was read before is read by it, or what it can take. */
  async choose(model: string): Promise<void> {
    const signal = this.begin();
    this.model = model;
    this.forget();
    this.settle("loading");
    try {
      await this.learn(signal);
    } catch (error) {
      return signal.aborted ? undefined : this.fail(error);
    }
    if (this.senses && !this.isTaken(this.media)) await this.useMedia(this.mediaExamples()[0] ?? null);
    else await this.read();
  }

  /** Something is asked for: what was asked for before is waited for no longer. */
  private begin(): AbortSignal {
    this.waiting?.end();
    this.set({ isWriting: false, waiting: null });
    return this.work.begin();
  }

  /** Asks again until the server's model is there. */
  private async watchStart(): Promise<void> {
    const reply = await getJson<StartReply>("api/start").catch(() => null);
    this.opening = reply?.doing ?? "";
    if (reply?.failed) return this.fail(new Error(reply.failed));
    if (this.opening) setTimeout(() => void this.watchStart(), 250);
  }

  /** Another text than the one on screen stands in the boxes. */
  get changed(): boolean {
    return this.text !== this.wasRead.text || this.pair.trim() !== this.wasRead.pair.trim();
  }

  /** What is longer than the server takes is said, never cut. */
  get tooMany(): number {
    return Math.max(0, Math.max(this.text.length, this.pair.length) - (this.models?.max_characters ?? Infinity));
  }

  /** Reads what stands in the boxes: heads and tokens of the old text mean nothing there. */
  async readTyped(): Promise<void> {
    if (this.tooMany) return;
    this.forget();
    await this.read(false, true);
  }

  showAtlas(on: boolean): void {
    this.set({ inAtlas: on, atlasSeen: this.atlasSeen || on });
  }

  /** A text of the atlas's corpus, opened on the head whose example it is. */
  async readAt(text: string, pair: string | null, place: Partial<State>): Promise<void> {
    this.set({ text, pair: pair ?? "", off: [], writing: null });
    this.state = { ...kept(this.state, ["theme"]), ...place };
    this.following.coming = true;
    this.showAtlas(false);
    await this.read(false, true);
  }

  async useExample(example: Example): Promise<void> {
    this.set({ inAtlas: false, text: example.text, pair: example.text_pair ?? "", off: [], writing: null });
    this.state = kept(this.state, ["theme"]);
    this.following.coming = true;
    if (example.writes) await this.write();
    else await this.read(false, true);
  }

  /** The model goes on from the text, or from what it wrote so far, until it is stopped or has written enough. */
  async write(): Promise<void> {
    const signal = this.begin();
    this.inAtlas = false;
    if (!this.writing) this.wasRead = { text: this.text, pair: "" };
    if (!this.wasRead.text.trim()) return this.settle("empty");
    const already = this.writing?.steps.length ?? 0;
    // What is written is first read as text; another view was chosen by hand.
    if (!this.writing && this.state.view === "head") delete this.state.view;
    this.isWriting = true;
    this.settle("loading");
    try {
      while (this.isWriting && (this.writing?.steps.length ?? 0) < already + atMost && !this.writing?.done) {
        const from = this.writing ? { writing: this.writing.id } : { model: this.model, text: this.wasRead.text, off: this.off };
        this.writing = await postJson<Writing>("api/write", { ...from, count: atOnce }, signal);
      }
      this.set({ isWriting: false, pair: "" });
      this.state = kept(this.state, ["view", "theme", "layer", "head", "heads", "kind", "first", "scale", "unit", "specials"]);
      await this.read();
    } catch (error) {
      if (signal.aborted) return;
      this.isWriting = false;
      this.fail(error);
    }
  }

  stopWriting(): void {
    this.isWriting = false;
  }

  /** Reads again the text that was read last, or, `typed`, the one in the boxes; what was on screen stays until the new reading is here. */
  async read(truncate = false, typed = false): Promise<void> {
    const signal = this.begin();
    if (typed || !this.wasRead.text) this.wasRead = { text: this.text, pair: this.pair };
    if (!this.wasRead.text.trim() && !(this.senses && this.media)) return this.settle("empty");
    if (this.against === allOn && !this.off.length) this.against = "";
    const waiting = new Waiting((before) => (this.before = before));
    this.set({ waiting, before: null });
    const wanted = this.wanted();
    this.settle("loading");
    try {
      const source = await this.ask(wanted, truncate, signal);
      const other = await this.askOther(wanted, truncate, signal);
      await this.learn(signal);
      const { id, lesson, writing } = source.header as AppHeader;
      this.set({ lesson: lesson ?? null, writing: (wanted.writing = writing ?? null) });
      source.header.state = { ...source.header.state, ...this.state, theme: this.theme };
      if (other) other.header.state = source.header.state;
      this.reading = { id, source, of: wanted, other: other && { source: other, title: this.otherTitle(wanted), id: (other.header as AppHeader).id } };
      this.settle("ready");
      await this.compare();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status === 409 && this.reading) this.takeBack(this.reading);
      else this.fail(error);
    } finally {
      waiting.end();
    }
  }

  private wanted(): Wanted {
    const { model, wasRead, media, off, writing, against, againstText } = this;
    return { model, wasRead, media, off, writing, against, againstText };
  }

  /** What was on screen before is still there, and everything goes on from it; what was typed is left as it is. */
  private takeBack({ of }: Reading): void {
    this.set(of);
    this.state = this.following.shown.value;
    this.settle("ready");
  }

  private async askOther(wanted: Wanted, truncate: boolean, signal: AbortSignal): Promise<Source | null> {
    const { against, againstText } = wanted;
    if (!against || (against === anotherText && !againstText.trim())) return null;
    if (against === anotherText) return this.ask({ ...wanted, wasRead: { text: againstText, pair: "" }, writing: null }, truncate, signal);
    // What one model wrote is read token by token by it alone; another reads the same words.
    if (against !== allOn) return this.ask({ ...wanted, model: against, off: [], writing: null }, truncate, signal);
    return this.ask({ ...wanted, off: [] }, truncate, signal);
  }

  private otherTitle({ against, againstText }: Wanted): string {
    if (against === anotherText) return `“${againstText.slice(0, 40)}${againstText.length > 40 ? "…" : ""}”`;
    return against === allOn ? "every head on" : this.titleOf(against);
  }

  /** How much each head changed and which is which; the picture does not wait for it. */
  private async compare(): Promise<void> {
    const { reading } = this;
    this.set({ comparison: null, uncompared: "" });
    if (!reading?.other) return;
    const found = await postJson<Comparison>("api/compare", { id: reading.id, other: reading.other.id }).catch(sentenceOf);
    if (reading !== this.reading) return;
    this.set(typeof found === "string" ? { uncompared: found } : { comparison: found });
  }

  /** The head of the other reading that stands beside this one. */
  partner(layer: number, head: number): [number, number] {
    const match = this.comparison?.matches.find((each) => each.layer === layer && each.head === head);
    return this.pairing === "likeness" && match ? match.to : [layer, head];
  }

  private ask(wanted: Wanted, truncate: boolean, signal: AbortSignal): Promise<Source> {
    const asked = {
      model: wanted.model,
      text: wanted.wasRead.text,
      text_pair: wanted.wasRead.pair.trim() ? wanted.wasRead.pair : null,
      ...(wanted.writing ? { writing: wanted.writing.id } : {}),
      off: wanted.off,
      layer: this.state.layer ?? null,
      ...(truncate ? { truncate } : {}),
      ...(this.waiting ? { ticket: this.waiting.ticket } : {}),
    };
    const media = this.senses ? wanted.media : null;
    const gone = (id: string) => {
      // Whatever is on its way takes the place of what is gone.
      const { reading } = this;
      if (this.phase === "ready" && (reading?.id === id || reading?.other?.id === id)) void this.read(truncate);
    };
    return sourceOf(media && !this.about ? { ...asked, text: "" } : asked, media, gone, signal);
  }

  /** A new text or model: tokens and heads of the old selection mean nothing there. */
  forget(): void {
    this.set({ inAtlas: false, off: [], writing: null });
    this.state = kept(this.state, lasting);
    this.following.coming = true;
    // The server opens a long text as text and a short one with lines; another view was chosen by hand.
    if (this.state.view === "head" || this.state.view === "text") delete this.state.view;
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
    this.state = this.following.after(state, this.state);
    clearTimeout(this.urlTimer);
    this.urlTimer = setTimeout(() => history.replaceState(null, "", this.address()), 150);
  }

  address(): string {
    const query = new URLSearchParams({ model: this.model, text: this.wasRead.text });
    if (this.wasRead.pair.trim()) query.set("pair", this.wasRead.pair);
    if (this.against) query.set("against", this.against);
    if (this.against === anotherText) query.set("against_text", this.againstText);
    if (this.pairing === "likeness") query.set("pairing", "likeness");
    if (this.off.length) query.set("off", writeOff(this.off));
    for (const [name, value] of toQuery({ ...this.state, theme: this.theme })) query.set(name, value);
    return `${location.pathname}?${query.toString()}`;
  }

  /** What is exported is the picture on screen, also while another text is being read. */
  shownQuery(): URLSearchParams {
    return toQuery({ ...this.following.shown.value, theme: this.theme });
  }

  private settle(phase: Phase): void {
    if (phase !== "loading") this.following.coming = false;
    this.phase = phase;
  }

  private fail(error: unknown): void {
    // What the model wrote is no longer kept: the next try reads the text it began with.
    if (error instanceof ApiError && error.status === 404) this.writing = null;
    const detail = error instanceof ApiError ? error.detail : null;
    const tooLong = detail?.tokens && detail.limit ? { tokens: detail.tokens, limit: detail.limit } : null;
    this.set({ message: sentenceOf(error), tooLong });
    this.settle(this.tooLong ? "too-long" : "error");
  }
}
