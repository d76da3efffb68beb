/** The app's state: every entry notifies its subscribers when it changes. */
import type { Instrument } from "../../../instrument/instrument";
import type { Comparison, Example, GivenDocument, ImportanceReply, MediaRequest, ModelEntry, ModelsReply, OffHead, PredictReply, Queued, Writing } from "../../../protocol/app";
import type { Source, State, Theme } from "../../../protocol/types";
import { signals } from "../../../state/signal";
import type { Step } from "../../../state/tour";
import type { Pairing, Wrote } from "../place";
import type { Waiting } from "../waiting";
import { engine, getJson } from "./api";

export type Phase = "starting" | "empty" | "loading" | "ready" | "error" | "too-long";

/** The input of a request, unchanged by later choices. */
export type Wanted = Pick<Known, "model" | "wasRead" | "documents" | "media" | "off" | "edits" | "writing" | "wrote" | "against" | "againstText" | "truncated">;

export interface Reading {
  id: string;
  source: Source;
  of: Wanted;
  /** The server's opening state for it. */
  own: Partial<State>;
  /** The reading it is compared with, and what that is. */
  other: { source: Source; title: string; id: string } | null;
  predictions?: Promise<PredictReply>;
}

interface Entries {
  models: ModelsReply | null;
  model: string;
  phase: Phase;
  message: string;
  tooLong: { tokens: number; limit: number } | null;
  /** The server's current step while it starts; the first picture may come from the last start. */
  opening: string;
  /** The share of a live page's file that has arrived; null: none is on its way. */
  arrived: number | null;
  /** A reading that is under way, and how far it is once that is known. */
  waiting: Waiting | null;
  queued: Queued | null;
  /** The texts in the boxes, and those that were read last. */
  text: string;
  pair: string;
  wasRead: { text: string; pair: string };
  /** The documents of a question; the second box then contains the answer. */
  documents: GivenDocument[];
  /** A picture or a sound for models that take one. */
  media: MediaRequest | null;
  off: OffHead[];
  /** Emphasis and weights set by hand, as the address spells them. */
  edits: string[];
  /** A model's id, or allOn, or anotherText, or nothing; and the text, where it is anotherText. */
  against: string;
  againstText: string;
  /** In a comparison, pair heads by number or by likeness; "": whichever suits the two readings. */
  pairing: Pairing;
  comparison: Comparison | null;
  /** Why the two cannot be compared. */
  uncompared: string;
  /** The model's predictions, or why there are none; null: not yet received. */
  predictions: PredictReply | string | null;
  /** The user closed the lesson of the example on screen. */
  lessonClosed: boolean;
  writing: Writing | null;
  /** The part of it for a link. */
  wrote: Wrote | null;
  /** The model is writing now. */
  isWriting: boolean;
  /** Only the beginning is read, because the whole is too long. */
  truncated: boolean;
  reading: Reading | null;
  /** The picture of it on screen. */
  mounted: Instrument | null;
  /** After the first request, heads are ranked again for each reading. */
  ranked: boolean;
  /** The ranking of a reading, by its id: the dial rings these heads. */
  importance: { id: string; heads: ImportanceReply["heads"] } | null;
  /**
   * The atlas's state as a query, while it stands over the reading: "" opens it on the head in hand; null: it is away.
   * Once it was opened, it waits behind the reading as it was left.
   */
  atlas: string | null;
  atlasSeen: boolean;
  /** Saved states: those that the app was started with, until others are opened or saved; and whether their list is open. */
  tour: Step[];
  tourOpen: boolean;
  /** The picture alone on screen; and the step of the tour it is, where it is one. */
  presenting: boolean;
  step: number | null;
  theme: Theme;
}

const initial = (): Entries => ({
  models: null, model: "", phase: "starting", message: "", tooLong: null, opening: "", arrived: null, waiting: null, queued: null,
  text: "", pair: "", wasRead: { text: "", pair: "" }, documents: [], media: null, off: [], edits: [], against: "", againstText: "", pairing: "",
  comparison: null, uncompared: "", predictions: null, lessonClosed: false, writing: null, wrote: null, isWriting: false,
  truncated: false, reading: null, mounted: null, ranked: false, importance: null, atlas: null, atlasSeen: false, tour: [], tourOpen: false, presenting: false, step: null, theme: "auto",
});

export class Known extends signals(initial) {
  /** The examples that suit the selected model. */
  examples(): Example[] {
    return (this.entry?.examples ?? []).map((number) => this.models!.examples[number]);
  }

  get entry(): ModelEntry | undefined {
    return this.models?.models.find((each) => each.id === this.model);
  }

  /** The model's other inputs, beside or instead of a text. */
  get senses(): "image" | "audio" | null {
    return this.entry?.sees ? "image" : this.entry?.hears ? "audio" : null;
  }

  /** Whether the model answers questions over documents, which a live page does not read. */
  get converses(): boolean {
    return !!this.entry?.writes && !this.entry.encoder_decoder && !this.senses && !engine;
  }

  /** The documents that are sent along: those with a text, where the model takes any. */
  get asked(): GivenDocument[] {
    return this.converses ? this.documents.filter(({ text }) => text.trim()) : [];
  }

  /** The role of a text beside a picture or a sound; null if the model takes none. */
  get about(): string | null {
    const given = this.senses === "image" ? "picture" : "sound";
    return this.entry?.reads ? `A text about the ${given} (optional)` : this.entry?.encoder_decoder ? `The ${given}'s transcript (optional)` : null;
  }

  mediaExamples(): MediaRequest[] {
    const fitting = (this.models?.media_examples ?? []).filter((each) => each.kind === this.senses);
    return fitting.map(({ name }) => ({ media: "example", name }));
  }

  /** Whether the selected model takes this kind of input. */
  protected isTaken(media: MediaRequest | null): boolean {
    const example = this.mediaExamples().some((each) => each.name === media?.name);
    return media?.media === "example" ? example : media?.media === this.senses;
  }

  titleOf(model: string): string {
    return this.models?.models.find((each) => each.id === model)?.title ?? model;
  }

  /** Little is known of a model before it is opened: afterwards its examples and abilities are. */
  protected async learn(signal: AbortSignal): Promise<void> {
    if (!this.entry || Object.keys(this.entry.layers).length) return;
    const found = await getJson<ModelsReply>("api/models", signal);
    this.models = found;
  }
}
