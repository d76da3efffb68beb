/** What a picture shows, in a few words: the title of a saved state, and the caption of a presented one. */
import type { Instrument } from "../../../instrument/instrument";

type Shown = Pick<Instrument, "state" | "definitionNow">;

const isOfModel = (shown: Shown) => shown.definitionNow().overview || shown.state.view === "prediction";

/** The heads that are drawn; null: all of a layer, or of the model. */
export function drawnHeads(shown: Shown): number[] | null {
  if (isOfModel(shown)) return null;
  return shown.definitionNow().chips === "many" ? shown.state.heads : [shown.state.head];
}

export function titleOf(shown: Shown): string {
  const { title } = shown.definitionNow();
  const { layer } = shown.state;
  const heads = drawnHeads(shown);
  if (!heads) return isOfModel(shown) ? title : `${title}, layer ${layer}`;
  if (!heads.length) return `${title}, no head`;
  return `${title}, ${heads.length === 1 ? "head" : "heads"} ${heads.map((head) => `${layer}-${head}`).join(", ")}`;
}
