/** Bundles the front end into one ES module that may be inlined in a page, and measures it. */
import { build } from "esbuild";
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const outfile = join(here, "../src/headscope/surfaces/static/headscope.js");
const limit = 90 * 1024;

/** Every folder of src/views is a view: adding one touches no list. */
export function viewsModule() {
  const names = readdirSync(join(here, "src/views"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
  const imports = names.map((name) => `import ${name} from ${JSON.stringify(join(here, "src/views", name, "index.ts"))};`);
  return `${imports.join("\n")}\nexport default [${names.join(", ")}];\n`;
}

const discoverViews = {
  name: "discover-views",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^virtual:views$/ }, () => ({ path: "views", namespace: "views" }));
    onLoad({ filter: /.*/, namespace: "views" }, () => ({ contents: viewsModule(), resolveDir: here }));
  },
};

const cssAsText = {
  name: "css-as-text",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(/\/\*[\s\S]*?\*\//g, "").replace(/\s*\n\s*/g, " "),
      loader: "text",
    }));
  },
};

export async function bundle(target = outfile) {
  await build({
    entryPoints: [join(here, "src/index.ts")],
    outfile: target,
    bundle: true,
    format: "esm",
    minify: true,
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    jsx: "automatic",
    jsxImportSource: "preact",
    plugins: [discoverViews, cssAsText],
  });
  const code = readFileSync(target);
  const text = code.toString("utf8");
  // The bundle is inlined into pages, where these would end or disguise the script element.
  for (const trap of ["</script", "<!--", "eval(", "new Function"]) {
    if (text.toLowerCase().includes(trap.toLowerCase())) throw new Error(`The bundle contains ${JSON.stringify(trap)}.`);
  }
  return { bytes: code.length, gzipped: gzipSync(code, { level: 9 }).length, limit };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { bytes, gzipped } = await bundle();
  console.log(`headscope.js ${(bytes / 1024).toFixed(1)} KB, ${(gzipped / 1024).toFixed(1)} KB gzipped (limit ${limit / 1024} KB)`);
  if (gzipped > limit) {
    console.error("The bundle is over its limit.");
    process.exit(1);
  }
}
