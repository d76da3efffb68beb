/** What every view and the bundle must keep to, found rather than listed. */
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
// @ts-expect-error The build script is plain JavaScript.
import { bundle } from "../build.mjs";

const folder = new URL("../src/views/", import.meta.url);
const names = readdirSync(folder, { withFileTypes: true })
  .filter((each) => each.isDirectory())
  .map((each) => each.name);

describe("views", () => {
  it("are each in a folder of its name, with a place of its own among the tabs", async () => {
    const definitions = await Promise.all(
      names.map(async (name) => ((await import(`../src/views/${name}/index.ts`)) as { default: { name: string; place: number } }).default),
    );
    expect(definitions.map((each) => each.name)).toEqual(names);
    expect(new Set(definitions.map((each) => each.place)).size).toBe(names.length);
  });
});

describe("the bundle", () => {
  it("is at most 90 KB gzipped and may be inlined in a page", async () => {
    const { gzipped, limit } = (await (bundle as (path: string) => Promise<{ gzipped: number; limit: number }>)(join(tmpdir(), "headscope-test.js"))) ?? {};
    expect(limit).toBe(90 * 1024);
    expect(gzipped).toBeLessThanOrEqual(limit);
  });
});
