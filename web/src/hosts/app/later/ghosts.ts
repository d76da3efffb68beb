/** What heads that are off showed before: the same text with every head on, kept or read again. */
import type { Instrument } from "../../../instrument/instrument";
import type { Kind } from "../../../protocol/types";
import { Reading, readPart } from "../parts";
import type { Session } from "../session";

export async function haunt(session: Session, instrument: Instrument): Promise<void> {
  const reading = session.reading!;
  const { off } = reading.of;
  const before = session.kept.get(readPart({ ...session.place(), off: [], against: "", againstText: "", pairing: "" }).toString());
  const source = before?.source ?? (await session.ask({ ...reading.of, off: [] }, session.work.signal));
  if (session.reading !== reading) return;
  const whole = new Reading(source);
  instrument.options.was = (kind: Kind, layer: number, head: number) => (off.some(([k, l, h]) => k === kind && l === layer && h === head) ? whole.map(kind, layer, head) : null);
  instrument.redraw();
}
