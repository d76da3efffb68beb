/** Bundles the front end into one ES module that may be inlined in a page, and measures it. */
import { build, transform } from "esbuild";
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const outfile = join(here, "../src/headscope/surfaces/static/headscope.js");
const limit = 90 * 1024;

/** Every folder of src/views is a view: adding one touches no list. `more`: folders of views from elsewhere. */
export function viewsModule(more = []) {
  const found = [join(here, "src/views"), ...more].flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => ({ name: entry.name, path: join(folder, entry.name, "index.ts") })),
  );
  found.sort((a, b) => (a.name < b.name ? -1 : 1));
  const imports = found.map(({ name, path }) => `import ${name} from ${JSON.stringify(path)};`);
  return `${imports.join("\n")}\nexport default [${found.map(({ name }) => name).join(", ")}];\n`;
}

const discoverViews = (more) => ({
  name: "discover-views",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^virtual:views$/ }, () => ({ path: "views", namespace: "views" }));
    onLoad({ filter: /.*/, namespace: "views" }, () => ({ contents: viewsModule(more), resolveDir: here }));
  },
});

const cssAsText = {
  name: "css-as-text",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true, charset: "utf8" });
      return { contents: code.trim(), loader: "text" };
    });
  },
};

/**
 * What is alike stands together, styles above all: gzip looks back no further than 32 KB, and so the same
 * source packs 2 KB smaller than in the order in which files happen to import each other.
 */
function entry() {
  const found = readdirSync(join(here, "src"), { recursive: true }).map((path) => path.replaceAll("\\", "/")).sort();
  const styles = found.filter((path) => path.endsWith(".css"));
  const shared = found.filter((path) => /^(protocol|render)\/.*(?<!\.d)\.tsx?$/.test(path));
  const first = [...styles, ...shared].map((path) => `import "./src/${path}";`);
  return [...first, 'export * from "./src/index";', 'export { default } from "./src/index";'].join("\n");
}

export async function bundle(target = outfile, more = []) {
  await build({
    stdin: { contents: entry(), resolveDir: here },
    outfile: target,
    bundle: true,
    format: "esm",
    minify: true,
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    jsx: "automatic",
    jsxImportSource: "preact",
    plugins: [discoverViews(more), cssAsText],
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
  // node build.mjs [FILE [FOLDER OF VIEWS …]]: another place to write to, and views from elsewhere.
  const [target, ...more] = process.argv.slice(2).filter((each) => !each.startsWith("--"));
  const { bytes, gzipped } = await bundle(target ?? outfile, more);
  console.log(`headscope.js ${(bytes / 1024).toFixed(1)} KB, ${(gzipped / 1024).toFixed(1)} KB gzipped (limit ${limit / 1024} KB)`);
  if (gzipped > limit) {
    console.error("The bundle is over its limit.");
    process.exit(1);
  }
}
