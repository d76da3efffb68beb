/** While heads are off or attention is edited: which, what that changes in the answer, and the way back. */
import type { JSX } from "preact";
import type { PredictReply } from "../../protocol/app";
import { visible } from "../../render/dom";
import { later } from "./later";
import { engine } from "./server/api";
import type { Session } from "./session";

/** The words whose probability changes most: before, and after (null: no longer among those listed). */
export function differences(reply: PredictReply | string | null): { token: string; before: number; after: number | null }[] {
  const place = typeof reply === "string" ? undefined : reply?.places[0];
  const found = (place?.before ?? []).map(({ token, probability }) => ({
    token,
    before: probability,
    after: place!.after.find((each) => each.token === token)?.probability ?? null,
  }));
  return found.sort((a, b) => Math.abs(b.before - (b.after ?? 0)) - Math.abs(a.before - (a.after ?? 0)));
}

export const percent = (share: number): string => (share > 0 && share < 0.005 ? "<1" : (100 * share).toFixed(0));

/** Edits beside switches, and all of it as Python. */
const Edits = later<{ session: Session }>(async () => (await import("./later/change")).Edits);

export function OffStrip({ session }: { session: Session }): JSX.Element | null {
  const { off, edits, predictions, reading } = session;
  if (!off.length && !edits.length) return null;
  const [here] = reading?.source.header.parts ?? [];
  const names = off.map(([kind, layer, head]) => `${layer}-${head}${kind === here?.kind ? "" : ` (${kind})`}`);
  const changed = reading?.of.off === off && reading.of.edits === edits ? differences(predictions).slice(0, 2) : [];
  return (
    <div class="off-strip" role="status" data-off>
      {off.length > 0 && <b>{names.join(", ")} off</b>}
      {!engine && <Edits session={session} />}
      <span data-difference>
        {changed.map(({ token, before, after }) => `${visible(token)} ${percent(before)} → ${after === null ? "rank 6 or lower" : `${percent(after)} %`}`).join(" · ")}
      </span>
      {off.length > 0 && <span class="quiet">Off: each token attends uniformly to every token it may see.</span>}
      <span class="spring" />
      {off.length > 1 && <button class="plain" data-control="undo" onClick={() => void session.switchHead(...off.at(-1)!)}>{names.at(-1)} on</button>}
      <button class="plain" data-control="all-on" onClick={() => void session.edit([], [])}>{edits.length ? "undo all" : "all on"}</button>
    </div>
  );
}
