/** What a live page says when its model fails. */
import { describe, expect, it } from "vitest";
import { Refused, failure } from "../src/live/server";

const said = (error: unknown) => JSON.parse(failure(error).body as string) as { error: string };

describe("a failure in the engine", () => {
  it.each([
    new Error("Can't run the session: ERROR_CODE: 6, ERROR_MESSAGE: std::bad_alloc"),
    new Error("Failed to allocate memory for requested buffer of size 1073741824"),
    new RangeError("Array buffer allocation failed"),
    new RangeError("Invalid typed array length: 9000000000"),
    new Error("Aborted(OOM). Build with -sASSERTIONS for more info."),
    "out of memory",
  ])("is told as a shortage of memory: %s", (error) => {
    expect(said(error).error).toBe("The browser has not enough memory for this text; give a shorter one.");
  });

  it("is told in its own words where it is another", () => {
    expect(said(new Error("input 'ids' is missing")).error).toBe("input 'ids' is missing");
    expect(said(new Refused("Type a sentence.", 400, { limit: 8 }))).toEqual({ error: "Type a sentence.", limit: 8 });
    expect(failure(new Refused("Too long.", 413)).status).toBe(413);
  });
});
