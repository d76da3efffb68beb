import { defineConfig } from "vitest/config";
import { ownViews, viewsModule } from "./build.mjs";

export default defineConfig({
  test: { include: ["tests/**/*.test.ts"] },
  plugins: [
    {
      name: "discover-views",
      resolveId: (id) => (id === "virtual:views" ? "\0views" : null),
      load: (id) => (id === "\0views" ? viewsModule([ownViews]) : null),
    },
  ],
});
