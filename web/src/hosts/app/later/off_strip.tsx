/** While heads are off or attention is edited: which, what that changes in the answer, and the way back. */
import type { JSX } from "preact";
import type { PredictReply } from "../../../protocol/app";
import { engine, visible } from "../parts";
import type { Session } from "../session";
import { Edits } from "./change";

/** What is listed of an answer: its first words; a word beyond them has a lower rank (null). */
interface Difference {
  token: string;
  before: number | null;
  after: number | null;
}

/** The words of the first answer whose probability changes most, those that come into the list included. */
export function differences(reply: PredictReply | string | null): Difference[] {
  const place = typeof reply === "string" ? undefined : reply?.places[0];
  if (!place) return [];
  const [before, after] = [place.before, place.after].map((each) => new Map(each.map(({ token, probability }) => [token, probability])));
  const found = [...new Set([...before.keys(), ...after.keys()])].map((token) => ({ token, before: before.get(token) ?? null, after: after.get(token) ?? null }));
  const change = (each: Difference) => Math.abs((each.before ?? 0) - (each.after ?? 0));
  return found.sort((a, b) => change(b) - change(a));
}

export const percent = (share: number): string => (share > 0 && share < 0.005 ? "<1" : (100 * share).toFixed(0));

/** “kitchen 17 → 11 %”; of several answers the first, by its name. */
export function inShort(reply: PredictReply | string | null): string {
  const found = differences(reply).slice(0, 2);
  const said = (share: number | null, unit = "") => (share === null ? "rank 6 or lower" : `${percent(share)}${unit}`);
  const named = typeof reply === "object" && reply && reply.places.length > 1 ? `${reply.places[0].title}: ` : "";
  return named + found.map(({ token, before, after }) => `${visible(token)} ${said(before, after === null ? " %" : "")} → ${said(after, " %")}`).join(" · ");
}

export function OffStrip({ session }: { session: Session }): JSX.Element {
  const { off, edits, predictions, reading } = session;
  const [here] = reading?.source.header.parts ?? [];
  const names = off.map(([kind, layer, head]) => `${layer}-${head}${kind === here?.kind ? "" : ` (${kind})`}`);
  return (
    <div class="off-strip" role="status" data-off>
      {off.length > 0 && <b>{names.join(", ")} off</b>}
      {!engine && <Edits session={session} />}
      <span data-difference>{reading?.of.off === off && reading.of.edits === edits ? inShort(predictions) : ""}</span>
      {off.length > 0 && <span class="quiet">Off: each token attends uniformly to every token it may see.</span>}
      <span class="spring" />
      {off.length > 1 && <button class="plain" data-control="undo" onClick={() => void session.switchHead(...off.at(-1)!)}>{names.at(-1)} on</button>}
      <button class="plain" data-control="all-on" onClick={() => void session.edit([], [])}>{edits.length ? "undo all" : "all on"}</button>
    </div>
  );
}
