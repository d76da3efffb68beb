import { defineConfig } from "vitest/config";
import { ownViews, viewsModule } from "./build.mjs";

export default defineConfig({
  // building the bundles takes seconds on a busy machine, where five would be the limit
  test: { include: ["tests/**/*.test.ts"], testTimeout: 60_000 },
  plugins: [
    {
      name: "discover-views",
      resolveId: (id) => (id === "virtual:views" ? "\0views" : null),
      load: (id) => (id === "\0views" ? viewsModule([ownViews]) : null),
    },
  ],
});
