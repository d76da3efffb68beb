/** What every view and the bundle must keep to, found rather than listed. */
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
// @ts-expect-error The build script is plain JavaScript.
import { bundle } from "../build.mjs";

const source = new URL("../src/", import.meta.url);
const within = (folder: string) =>
  readdirSync(new URL(folder, source), { withFileTypes: true })
    .filter((each) => each.isDirectory())
    .map((each) => ({ folder, name: each.name }));
const views = [...within("views/"), ...within("more/").flatMap(({ name }) => within(`more/${name}/`))];

describe("views", () => {
  it("are each in a folder of its name, with a place of its own among the tabs", async () => {
    const definitions = await Promise.all(
      views.map(async ({ folder, name }) => ((await import(new URL(`${folder}${name}/index.ts`, source).pathname)) as { default: { name: string; place: number } }).default),
    );
    expect(definitions.map((each) => each.name)).toEqual(views.map(({ name }) => name));
    expect(new Set(definitions.map((each) => each.place)).size).toBe(views.length);
  });
});

interface Written {
  name: string;
  gzipped: number;
  limit: number;
}

describe("the bundles", () => {
  it("are at most 90 KB gzipped each and may be inlined in a page", async () => {
    const written = await (bundle as (path: string) => Promise<Written[]>)(join(tmpdir(), "headscope-test.js"));
    const ordinary = written.filter((each) => !each.name.includes("-live-")); // live pages carry their own
    expect(ordinary.map((each) => each.name)).toEqual(["headscope-test.js", ...within("more/").map(({ name }) => `headscope-test-${name}.js`), "app/app.js"]);
    for (const { limit } of ordinary) expect(limit).toBe(90 * 1024);
    for (const { gzipped, limit } of written) {
      expect(gzipped).toBeLessThanOrEqual(limit);
    }
  });
});
