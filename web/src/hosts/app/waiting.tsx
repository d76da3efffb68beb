/** While a reading is under way: how many are before it in the server's queue, and a way to take it back. */
import type { JSX } from "preact";
import type { Queued } from "../../protocol/app";
import { getJson, postJson } from "./server/api";
import type { Session } from "./session";

/** A reading that takes no longer shows nothing of this. */
const patience = 900;
const every = 700;

export class Waiting {
  readonly ticket = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  /** null: not requested yet. */
  queued: Queued | null = null;
  private readonly asking = new AbortController();

  constructor(private readonly changed: (queued: Queued | null) => void) {
    setTimeout(() => void this.look(), patience);
  }

  private async look(): Promise<void> {
    const { signal } = this.asking;
    const found = signal.aborted ? null : await getJson<Queued>(`api/queue/${this.ticket}`, signal).catch(() => null);
    if (signal.aborted) return;
    this.changed((this.queued = found));
    setTimeout(() => void this.look(), every);
  }

  async cancel(): Promise<void> {
    await postJson("api/cancel", { ticket: this.ticket }).catch(() => null);
  }

  end(): void {
    this.asking.abort();
  }
}

/** In words: how much is done and how long the rest takes, once that is known. */
export function reading(done: number | null, left: number | null): string {
  if (done === null) return "Reading…";
  const share = `Reading: ${Math.round(100 * done)} %`;
  if (left === null) return share;
  return `${share}, about ${left < 90 ? `${Math.max(1, Math.round(left))} s` : `${Math.round(left / 60)} min`} left`;
}

export function Queue({ session }: { session: Session }): JSX.Element | null {
  const { waiting, queued, opening, arrived } = session;
  if (opening && session.reading) return <div class="queue" role="status" data-opening>The model is still opening ({opening}…): this picture came with the page; anything else waits.{arrived !== null && <meter min={0} max={1} value={arrived} aria-label="share of the file that has arrived" />}</div>;
  if (session.phase !== "loading" || !waiting || !queued || queued.before === null) return null;
  const { before, done, left } = queued;
  return (
    <div class="queue" role="status" data-before={before}>
      <span>{before === 0 ? reading(done, left) : before === 1 ? "One reading runs before this one." : `${before} readings run before this one.`}</span>
      {done !== null && <meter min={0} max={1} value={done} aria-label="share of the reading that is done" />}
      <button class="button" data-control="cancel" onClick={() => session.cancel()}>cancel</button>
    </div>
  );
}
