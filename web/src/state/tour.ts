/** A tour: states of the app that were saved, each with a title and a text. */

/** `address` is the part after "?" of the app's address. */
export interface Step {
  title: string;
  text: string;
  address: string;
}

/** Raises an error for a file or a link without a tour. */
export function tourOf(text: string): Step[] {
  let found: unknown = null;
  try {
    found = JSON.parse(text);
  } catch {
    // Said below.
  }
  const isStep = (each: Partial<Step> | null) => [each?.title, each?.text, each?.address].every((entry) => typeof entry === "string");
  if (!Array.isArray(found) || !found.length || !found.every(isStep)) throw new Error("This is not a tour: a tour is a JSON list of steps, each with title, text and address.");
  return (found as Step[]).map(({ title, text, address }) => ({ title, text, address }));
}
