/** While a reading is under way: how many are before it in the server's queue, and a way to take it back. */
import type { JSX } from "preact";
import { getJson, postJson } from "./server/api";
import type { Session } from "./session";

/** A reading that takes no longer shows nothing of this. */
const patience = 900;
const every = 700;

export class Waiting {
  readonly ticket = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  /** null: it has not been asked yet. */
  before: number | null = null;
  private readonly asking = new AbortController();

  constructor(private readonly changed: (before: number | null) => void) {
    setTimeout(() => void this.look(), patience);
  }

  private async look(): Promise<void> {
    const { signal } = this.asking;
    const found = signal.aborted ? null : await getJson<{ before: number | null }>(`api/queue/${this.ticket}`, signal).catch(() => null);
    if (signal.aborted) return;
    this.changed((this.before = found?.before ?? null));
    setTimeout(() => void this.look(), every);
  }

  async cancel(): Promise<void> {
    await postJson("api/cancel", { ticket: this.ticket }).catch(() => null);
  }

  end(): void {
    this.asking.abort();
  }
}

export function Queue({ session }: { session: Session }): JSX.Element | null {
  const { waiting, before: many, opening } = session;
  if (opening && session.reading) return <div class="queue" role="status" data-opening>The model is still opening ({opening}…): this picture came with the page; anything else waits.</div>;
  if (session.phase !== "loading" || !waiting || many === null) return null;
  const before = many === 0 ? "Reading…" : many === 1 ? "One reading is before this one." : `${many} readings are before this one.`;
  return (
    <div class="queue" role="status" data-before={many}>
      <span>{before}</span>
      <button class="button" data-control="cancel" onClick={() => session.cancel()}>cancel</button>
    </div>
  );
}
