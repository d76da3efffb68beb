/** The app's session: model, texts, heads switched off, the reading; mirrored in the address. */
import type { AppHeader, Comparison, Example, Masked, MediaRequest, ModelsReply, PredictReply, StartReply, TokensReply, Writing } from "../../protocol/app";
import type { Kind, Source, State } from "../../protocol/types";
import { sentenceOf } from "../../render/dom";
import type { Tooltip } from "../../render/tooltip";
import { kept, lasting } from "../../state/lasting";
import { Newest } from "../../state/signal";
import { opening } from "../../state/state";
import { placeOf, readPart } from "./place";
import type { Place } from "./place";
import { allOn, anotherText, Placed, written } from "./placed";
import type { Phase, Reading, Wanted } from "./server/known";
import { sourceOf } from "./server/source";
import { keptTour } from "./saved";
import { Waiting } from "./waiting";
import { ApiError, engine, getJson, postJson } from "./server/api";

/** Tokens per request, so that the text visibly grows; in total; and at most in one answer. */
const [atOnce, atMost, mostAtOnce] = [4, 24, 64];
/** The views of pictures and sounds, which texts do without. */
const mediaViews = () => import("./later/media");
/** Readings that Back and Forward find as they were. */
const mostKept = 6;

export class Session extends Placed {
  /** The panel for definitions of terms. */
  tips: Tooltip | null = null;
  /** The latest request; older ones are aborted. */
  readonly work = new Newest();
  readonly kept = new Map<string, Reading>();

  async start(): Promise<void> {
    this.settle("starting");
    void this.watchStart();
    try {
      this.models = await getJson<ModelsReply>("api/models");
    } catch (error) {
      return this.fail(error);
    }
    this.tour = (await keptTour()) ?? this.models.tour ?? [];
    this.model ||= this.models.default;
    if (!this.entry) return this.fail(new Error(`This app has no model ${this.model}; choose one of these, or start it with: headscope app --model ${this.model}`));
    if (this.against !== allOn && this.against !== anotherText && !this.models.models.some((each) => each.id === this.against)) this.against = "";
    if (!this.text) this.against ||= this.models.against ?? "";
    // What an image is drawn with is known once its views are.
    if (this.senses) this.state = await mediaViews().then(() => placeOf(written()).state);
    if (this.senses) await this.useMedia(this.isTaken(this.media) ? this.media : (this.mediaExamples()[0] ?? null));
    else if (this.text) await this.read(this.truncated, true);
    else if (this.tour.length && !engine) await this.walkTour(0);
    else if (this.examples().length) await this.useExample(this.examples()[0]);
    else this.settle("empty");
  }

  /** Reads a picture or a sound, with the text in the box if the model reads text too. */
  async useMedia(media: MediaRequest | null): Promise<void> {
    this.media = media;
    this.forget();
    if (media) return this.read(false, true);
    this.begin();
    this.settle("empty");
  }

  /** Another model: it reads the same input, or an example that it can take. */
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

  /** A new request: stop waiting for earlier ones. */
  private begin(): AbortSignal {
    this.waiting?.end();
    this.set({ isWriting: false, waiting: null });
    return this.work.begin();
  }

  /** Polls until the server's model is open. */
  private async watchStart(): Promise<void> {
    const reply = await getJson<StartReply>("api/start").catch(() => null);
    this.set({ opening: reply?.doing ?? "", arrived: reply?.share ?? null });
    if (reply?.failed) return this.fail(new Error(reply.failed));
    if (this.opening) setTimeout(() => void this.watchStart(), 250);
  }

  /** Whether the text in the boxes differs from the one on screen. */
  get changed(): boolean {
    return this.text !== this.wasRead.text || this.pair.trim() !== this.wasRead.pair.trim();
  }

  /** Characters beyond the server's limit; the text is never cut silently. */
  get tooMany(): number {
    return Math.max(0, Math.max(this.text.length, this.pair.length) - (this.models?.max_characters ?? Infinity));
  }

  /** Reads the text in the boxes; drops the old text's heads and tokens. */
  async readTyped(): Promise<void> {
    if (this.tooMany) return;
    if (!this.text.trim() && this.reading && !this.senses) {
      this.begin();
      return this.takeBack(this.reading);
    }
    this.forget();
    await this.read(false, true);
  }

  /** A text of the atlas's corpus, opened on the head whose example it is. */
  async readAt(text: string, pair: string | null, place: Partial<State>): Promise<void> {
    this.set({ text, pair: pair ?? "", off: [], edits: [], writing: null, wrote: null, atlas: null });
    this.state = { ...kept(this.state, ["theme"]), ...place };
    this.following.coming = true;
    await this.read(false, true);
  }

  async useExample(example: Example): Promise<void> {
    this.set({ atlas: null, text: example.text, pair: example.text_pair ?? "", off: [], edits: [], writing: null, wrote: null });
    this.state = kept(this.state, ["theme"]);
    this.following.coming = true;
    if (example.writes) await this.write();
    else await this.read(false, true);
  }

  /** The model continues the text, or what it wrote so far, until it is stopped or has written enough. */
  async write(): Promise<void> {
    const signal = this.begin();
    if (!this.writing) this.wasRead = { text: this.text, pair: "" };
    if (!this.wasRead.text.trim()) return this.reading ? this.takeBack(this.reading) : this.settle("empty");
    const already = this.writing?.steps.length ?? 0;
    // Written text opens in the text view, unless the user chose another view.
    if (!this.writing && this.state.view === "head") delete this.state.view;
    this.set({ atlas: null, isWriting: true });
    this.settle("loading");
    try {
      const { off, edits } = this.wrote ?? this;
      while (this.isWriting && (this.writing?.steps.length ?? 0) < already + atMost && !this.writing?.done) await this.writeOn(atOnce, { off, edits }, signal);
      this.set({ isWriting: false, pair: "", wrote: { count: this.writing!.steps.length, off, edits } });
      this.state = kept(this.state, ["view", "theme", "layer", "head", "heads", "kind", "first", "scale", "unit", "specials"]);
      await this.read();
    } catch (error) {
      if (signal.aborted) return;
      this.isWriting = false;
      this.fail(error);
    }
  }

  private async writeOn(count: number, changed: Pick<Wanted, "off" | "edits">, signal: AbortSignal): Promise<void> {
    const from = this.writing ? { writing: this.writing.id } : { model: this.model, text: this.wasRead.text, ...changed };
    this.writing = await postJson<Writing>("api/write", { ...from, count }, signal);
  }

  /** Writes a link's text again: the model always takes the likeliest token. */
  private async writeAgain({ count, off, edits }: NonNullable<Place["wrote"]>, signal: AbortSignal): Promise<void> {
    this.writing = null as Writing | null;
    for (let left = count; left > 0; left = this.writing!.done ? 0 : count - this.writing!.steps.length) await this.writeOn(Math.min(mostAtOnce, left), { off, edits }, signal);
  }

  stopWriting(): void {
    this.isWriting = false;
  }

  /** Reads the last text again, or, with `typed`, the one in the boxes; the old picture stays until the new reading arrives. */
  async read(truncate = this.truncated, typed = false): Promise<void> {
    const signal = this.begin();
    if (typed || !this.wasRead.text) this.wasRead = { text: this.text, pair: this.pair };
    if (!this.wasRead.text.trim() && !(this.senses && this.media)) return this.settle("empty");
    if (this.against === allOn && !this.off.length && !this.edits.length) this.against = "";
    const waiting = new Waiting((queued) => (this.queued = queued));
    this.set({ waiting, queued: null, truncated: truncate });
    this.settle("loading");
    try {
      if (this.wrote && !this.writing) await this.writeAgain(this.wrote, signal);
      const wanted = this.wanted();
      if (this.mayBeTooLong(wanted) && (await this.isTooLong(wanted, signal))) return;
      const source = await this.ask(wanted, signal);
      const other = await this.askOther(wanted, signal);
      await this.learn(signal);
      if (this.senses) await mediaViews();
      const { id, writing, state } = source.header as AppHeader;
      wanted.writing = writing ?? null;
      this.show({ id, source, of: wanted, own: state ?? {}, other: other && { source: other, title: this.otherTitle(wanted), id: (other.header as AppHeader).id } });
      await this.compare();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status === 409 && this.reading) this.takeBack(this.reading);
      else this.fail(error);
    } finally {
      waiting.end();
    }
  }

  private mayBeTooLong({ wasRead: { text, pair }, documents, truncated, writing }: Wanted): boolean {
    return !documents.length && !truncated && !writing && !this.senses && 3 * (text.length + pair.length) > (this.entry?.max_length ?? Infinity);
  }

  /** A text that may be too long is counted before it is read. */
  private async isTooLong({ model, wasRead: { text, pair } }: Wanted, signal: AbortSignal): Promise<boolean> {
    const { tokens, limit } = await postJson<TokensReply>("api/tokens", { model, text, text_pair: pair.trim() ? pair : null, off: [] }, signal);
    if (!tokens || !limit || tokens <= limit) return false;
    this.tooLong = { tokens, limit };
    this.settle("too-long");
    return true;
  }

  /** Puts a reading on screen, new or kept. */
  private show(reading: Reading): void {
    const { source, of, other, own } = reading;
    // The dial beside it is the head map.
    if (this.state.view === "head_map") delete this.state.view;
    source.header.state = { ...own, ...this.state, theme: this.theme };
    if (other) other.source.header.state = source.header.state;
    this.set({ ...of, reading, lessonClosed: false, predictions: null });
    if (!of.documents.length) this.keep(reading); // no address names documents
    this.settle("ready");
    void this.predict(reading);
  }

  private keep(reading: Reading): void {
    const name = readPart(this.place()).toString();
    this.kept.delete(name);
    this.kept.set(name, reading);
    if (this.kept.size > mostKept) this.kept.delete(this.kept.keys().next().value!);
  }

  private wanted(): Wanted {
    const { model, wasRead, media, off, edits, writing, wrote, against, againstText, truncated } = this;
    return { model, wasRead, documents: this.asked, media, off, edits, writing, wrote, against, againstText, truncated };
  }

  /** Returns to the reading on screen; typed text is unchanged. */
  private takeBack({ of }: Reading): void {
    this.set(of);
    this.state = this.following.shown.value;
    this.settle("ready");
  }

  /** Cancels the current request without waiting for the server's confirmation. */
  cancel(): void {
    const { waiting, reading } = this;
    void waiting?.cancel();
    this.begin();
    if (reading) this.takeBack(reading);
    else this.settle("empty");
  }

  private async askOther(wanted: Wanted, signal: AbortSignal): Promise<Source | null> {
    const { against, againstText } = wanted;
    if (!against || (against === anotherText && !againstText.trim())) return null;
    if (against === anotherText) return this.ask({ ...wanted, wasRead: { text: againstText, pair: "" }, writing: null }, signal);
    // What one model wrote is read token by token by it alone; another reads the same words.
    if (against !== allOn) return this.ask({ ...wanted, model: against, off: [], edits: [], writing: null }, signal);
    return this.ask({ ...wanted, off: [], edits: [] }, signal);
  }

  private otherTitle({ against, againstText, edits }: Wanted): string {
    if (against === anotherText) return `“${againstText.slice(0, 40)}${againstText.length > 40 ? "…" : ""}”`;
    return against === allOn ? (edits.length ? "without edits" : "every head on") : this.titleOf(against);
  }

  /** How much each head changed and which is which; the picture does not wait for it. */
  private async compare(): Promise<void> {
    const { reading } = this;
    this.set({ comparison: null, uncompared: "" });
    if (!reading?.other) return;
    const kinds = [reading.source, reading.other.source].map(({ header }) => header.parts.map((part) => part.kind));
    if (kinds[0].length && !kinds[0].some((kind) => kinds[1].includes(kind))) {
      this.uncompared = `This reading has ${kinds[0].join(" and ")} attention and the other ${kinds[1].join(" and ")}: there are no two heads to compare.`;
      return;
    }
    const found = await postJson<Comparison>("api/compare", { id: reading.id, other: reading.other.id }).catch(sentenceOf);
    if (reading !== this.reading) return;
    this.set(typeof found === "string" ? { uncompared: found } : { comparison: found });
  }

  /** The model's predictions, with every head on and with the current ones off. */
  private async predict(reading: Reading): Promise<void> {
    if (this.entry?.predicts === false || this.senses) return;
    const { id, source, of: { off, edits } } = reading;
    const fetchPrediction = reading.predictions ? undefined : source.fetchPrediction?.bind(source);
    const asked = (reading.predictions ??= postJson<PredictReply>("api/predict", { id, off, edits }));
    // The server explains only what it predicts.
    if (fetchPrediction) {
      source.fetchPrediction = async (answer) => {
        const { note } = await asked;
        if (note) throw new Error(note);
        return fetchPrediction(answer);
      };
      if (this.entry?.masks) source.maskWord = (token) => void this.mask(id, token);
    }
    const found = await asked.catch(sentenceOf);
    if (reading === this.reading) this.predictions = found;
  }

  /** An encoder predicts at a mask: mask the word, and open the prediction there. */
  private async mask(id: string, token: number): Promise<void> {
    const { text, text_pair } = await postJson<Masked>("api/mask", { id, token });
    this.set({ text, pair: text_pair ?? "" });
    this.state = { ...kept(this.following.shown.value, ["theme", "layer", "head", "heads", "kind"]), view: "prediction" };
    this.following.coming = true;
    await this.read(false, true);
  }

  ask(wanted: Wanted, signal: AbortSignal): Promise<Source> {
    const asked = {
      model: wanted.model,
      text: wanted.wasRead.text,
      text_pair: wanted.wasRead.pair.trim() ? wanted.wasRead.pair : null,
      ...(wanted.writing ? { writing: wanted.writing.id } : {}),
      off: wanted.off, edits: wanted.edits,
      layer: this.state.layer ?? null,
      ...(wanted.truncated ? { truncate: true } : {}), ...(wanted.documents.length ? { documents: wanted.documents } : {}),
      ...(this.waiting ? { ticket: this.waiting.ticket } : {}),
    };
    const media = this.senses ? wanted.media : null;
    const gone = (id: string) => {
      // A current request will replace the dropped reading.
      const { reading } = this;
      if (this.phase === "ready" && (reading?.id === id || reading?.other?.id === id)) void this.read();
    };
    return sourceOf(media && !this.about ? { ...asked, text: "" } : asked, media, gone, signal);
  }

  /** A new text or model: tokens and heads of the old selection mean nothing there. */
  forget(): void {
    this.set({ atlas: null, off: [], edits: [], writing: null, wrote: null });
    this.state = kept(this.state, lasting);
    this.following.coming = true;
    // The server opens a long text as text and a short one with lines; another view was chosen by hand.
    if (this.state.view === "head" || this.state.view === "text") delete this.state.view;
  }

  async switchHead(kind: Kind, layer: number, head: number): Promise<void> {
    this.off = this.isOff(kind, layer, head) ? this.off.filter(([k, l, h]) => k !== kind || l !== layer || h !== head) : [...this.off, [kind, layer, head]];
    await this.read();
  }

  async edit(edits: string[], off = this.off): Promise<void> {
    this.set({ edits, off });
    await this.read();
  }

  /** Back and Forward: a text is read again only if its reading was dropped. */
  async go(address: URLSearchParams): Promise<void> {
    const place = placeOf(address);
    clearTimeout(this.urlTimer);
    this.written = `${location.pathname}${engine ? location.hash : location.search}`;
    const [here, there] = [this.place(), place].map((each) => readPart(each).toString());
    this.state = place.state;
    const { reading, mounted } = this;
    if (reading && mounted && this.phase === "ready" && here === there) {
      this.set({ step: place.step, presenting: this.presents(place.step), pairing: place.pairing, atlas: place.atlas, atlasSeen: this.atlasSeen || place.atlas !== null });
      return mounted.set(opening({ ...mounted.source.header, state: { ...reading.own, ...place.state, theme: this.theme } }));
    }
    this.landing = true;
    const before = this.kept.get(there);
    this.begin();
    this.take(place);
    this.following.coming = true;
    if (!before) {
      this.writing = null;
      return this.read(place.truncate, true);
    }
    this.show({ ...before });
    await this.compare();
  }

  /** The next or the previous step of the tour; from elsewhere, its first. */
  async walkTour(by: number): Promise<void> {
    await this.openStep(this.step === null ? 0 : this.step + by);
  }

  async openStep(at: number): Promise<void> {
    const address = this.stepAddress(at);
    if (!address) return;
    this.presenting = true;
    const going = this.go(address);
    this.landing = false; // a step of a tour is one to go back over
    await going.then(() => this.note()); // also where the step shows what is on screen already
  }

  private settle(phase: Phase): void {
    if (phase !== "loading") this.following.coming = false;
    this.phase = phase;
  }

  private fail(error: unknown): void {
    // The server dropped the written text: the next try starts from the prompt.
    if (error instanceof ApiError && error.status === 404) this.writing = null;
    const detail = error instanceof ApiError ? error.detail : null;
    const tooLong = detail?.tokens && detail.limit ? { tokens: detail.tokens, limit: detail.limit } : null;
    this.set({ message: sentenceOf(error), tooLong });
    this.settle(this.tooLong ? "too-long" : "error");
  }
}
