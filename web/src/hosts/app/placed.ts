/** Where one is, kept in the address: every step of it is one to go back over. */
import type { Kind, State } from "../../protocol/types";
import { Following } from "../../state/lasting";
import { opening } from "../../state/state";
import { toQuery } from "../../state/url";
import { addressOf, isStep, placeOf } from "./place";
import type { Place } from "./place";
import { engine } from "./server/api";
import { Known } from "./server/known";

/** A live page keeps its state after "#", so that typed text is never sent to the host. */
const mark = engine ? "#" : "?";
export const written = (): URLSearchParams => new URLSearchParams(engine ? location.hash.slice(1) : location.search);

/** Compared with the same model, every head on; or with the same model reading another text. */
export const allOn = "all-on";
export const anotherText = "another-text";

export class Placed extends Known {
  /** The next reading's opening state: only the lasting part of the picture before it. */
  state: Partial<State>;
  readonly following = new Following();
  protected urlTimer: ReturnType<typeof setTimeout> | undefined;
  /** The address as it was written last; "": never. */
  protected written = "";
  /** The text being read is no step of the history of its own: Back or Forward leads to it, or it goes on with the last. */
  landing = false;

  constructor(address: URLSearchParams) {
    super();
    const place = placeOf(address);
    this.state = place.state;
    this.take(place);
    this.theme = place.state.theme ?? "auto";
  }

  /** The address follows the picture, so that a link reopens it. */
  follow(state: State): void {
    this.state = this.following.after(state, this.state);
    this.note();
  }

  /** Update the address soon: a new entry of the history, or, for display options, in place. */
  note(): void {
    clearTimeout(this.urlTimer);
    // An atlas that is opening has no state yet: with it, opening would be two steps.
    const isOpening = () => this.atlas === "" && this.hasAtlas;
    this.urlTimer = setTimeout(() => this.phase === "ready" && !isOpening() && this.writeAddress(), 150);
  }

  private writeAddress(): void {
    const address = this.address();
    const step = this.written !== "" && !this.landing && isStep(this.written, address);
    this.landing = false;
    if (address === this.written) return;
    history[step ? "pushState" : "replaceState"](null, "", address);
    this.written = address;
  }

  place(): Place {
    const { model, wasRead, truncated, media, off, edits, wrote, against, againstText, pairing, atlas, step } = this;
    const example = media?.media === "example" && this.senses ? media.name : "";
    return { model, ...wasRead, truncate: truncated, media: example, off, edits, wrote, against, againstText, pairing, atlas, step, state: { ...this.state, theme: this.theme }, opened: this.opened };
  }

  /** The opening state of the picture on screen. */
  private get opened(): Partial<State> {
    const { reading, phase } = this;
    return reading && phase === "ready" ? opening({ ...reading.source.header, state: reading.own }) : {};
  }

  address(): string {
    return `${location.pathname}${mark}${addressOf(this.place()).toString()}`;
  }

  protected take(place: Place): void {
    const { model, text, pair, truncate, media, off, edits, wrote, against, againstText, pairing, atlas, step } = place;
    this.set({ model, text, pair, truncated: truncate, off, edits, wrote, against, againstText, pairing, atlas, step, presenting: this.presents(step), atlasSeen: this.atlasSeen || atlas !== null });
    if (media) this.media = { media: "example", name: media };
  }

  /** A step of a tour is presented; Back from one leads out again. */
  protected presents(step: number | null): boolean {
    return step !== null || (this.presenting && this.step === null);
  }

  isOff(kind: Kind, layer: number, head: number): boolean {
    return this.off.some(([k, l, h]) => k === kind && l === layer && h === head);
  }

  get inAtlas(): boolean {
    return this.atlas !== null;
  }

  get hasAtlas(): boolean {
    return !!this.models?.atlases?.includes(this.model);
  }

  showAtlas(on: boolean): void {
    this.set({ atlas: on ? "" : null, atlasSeen: this.atlasSeen || on });
    this.note();
  }

  present(on: boolean): void {
    this.set({ presenting: on, step: on ? this.step : null });
    this.note();
  }

  /** The state on screen as a step of a tour, with its model. */
  savedAddress(): string {
    const query = addressOf({ ...this.place(), step: null });
    query.delete("theme");
    return query.toString();
  }

  /** The address of a step of the tour. */
  protected stepAddress(at: number): URLSearchParams | null {
    const saved = this.tour[at];
    if (!saved) return null;
    const address = new URLSearchParams(saved.address);
    if (!address.get("model")) address.set("model", this.model);
    address.set("step", String(at));
    return address;
  }

  /** Heads of two models have nothing to do with each other's numbers; those of one model have. */
  get pairs(): "number" | "likeness" {
    const { against } = this;
    return this.pairing || (against && against !== allOn && against !== anotherText ? "likeness" : "number");
  }

  /** The head of the other reading shown beside this one. */
  partner(layer: number, head: number): [number, number] {
    const match = this.comparison?.matches.find((each) => each.layer === layer && each.head === head);
    return this.pairs === "likeness" && match ? match.to : [layer, head];
  }

  /** Export the picture on screen, even while another text is being read. */
  shownQuery(): URLSearchParams {
    return toQuery({ ...this.following.shown.value, theme: this.theme });
  }
}
