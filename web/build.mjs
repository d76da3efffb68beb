/**
 * Bundles the front end and measures it: one ES module that may be inlined in a page, and for every folder of
 * src/more a script with views that only some pages need. It stands before the module, or is loaded when it is
 * asked for, and leaves its views where the module looks for them.
 */
import { build, transform } from "esbuild";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { deflateRawSync, gzipSync } from "node:zlib";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const outfile = join(here, "../src/headscope/surfaces/static/headscope.js");
const limit = 90 * 1024;

export const further = readdirSync(join(here, "src/more"));

/** Every folder in those given is a view: adding one touches no list. */
export function viewsModule(folders) {
  const found = folders.flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => ({ name: entry.name, path: join(folder, entry.name, "index.ts") })),
  );
  found.sort((a, b) => (a.name < b.name ? -1 : 1));
  const imports = found.map(({ name, path }) => `import ${name} from ${JSON.stringify(path)};`);
  return `${imports.join("\n")}\nexport default [${found.map(({ name }) => name).join(", ")}];\n`;
}

export const ownViews = join(here, "src/views");

const discoverViews = (folders) => ({
  name: "discover-views",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^virtual:views$/ }, () => ({ path: "views", namespace: "views" }));
    onLoad({ filter: /.*/, namespace: "views" }, () => ({ contents: viewsModule(folders), resolveDir: here }));
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
  const all = readdirSync(join(here, "src"), { recursive: true }).map((path) => path.replaceAll("\\", "/")).sort();
  const found = all.filter((path) => !path.startsWith("more/"));
  const styles = found.filter((path) => path.endsWith(".css"));
  const shared = found.filter((path) => /^(protocol|render)\/.*(?<!\.d)\.tsx?$/.test(path));
  const first = [...styles, ...shared].map((path) => `import "./src/${path}";`);
  return [...first, 'export * from "./src/index";', 'export { default } from "./src/index";'].join("\n");
}

const leaveViews = 'import views from "virtual:views"; (globalThis.headscopeViews ??= []).push(...views);';

/** Writes headscope.js and its further scripts beside it; `more`: folders of views from elsewhere. */
export async function bundle(target = outfile, more = []) {
  const beside = further.map((name) => write(target.replace(/\.js$/, `-${name}.js`), "iife", leaveViews, [join(here, "src/more", name)]));
  const live = ["page", "worker"].map((name) => write(target.replace(/\.js$/, `-live-${name}.js`), "iife", `import "./src/live/${name}";`, []));
  writeEngine(target);
  return Promise.all([write(target, "esm", entry(), [ownViews, ...more]), ...beside, ...live]);
}

/** onnxruntime's WebAssembly, compressed as live pages carry it. */
function writeEngine(target) {
  mkdirSync(dirname(target), { recursive: true });
  const wasm = readFileSync(join(here, "node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm"));
  writeFileSync(join(dirname(target), "onnxruntime.wasm.deflate"), deflateRawSync(wasm, { level: 9 }));
}

async function write(target, format, contents, folders) {
  await build({
    stdin: { contents, resolveDir: here },
    outfile: target,
    bundle: true,
    format,
    minify: true,
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    // A worker made of text in a page has no address of its own that a module could stand beside.
    define: format === "iife" ? { "import.meta.url": "self.location.href" } : {},
    jsx: "automatic",
    jsxImportSource: "preact",
    plugins: [discoverViews(folders), cssAsText],
  });
  const code = readFileSync(target);
  const text = code.toString("utf8");
  // The bundle is inlined into pages, where these would end or disguise the script element.
  for (const trap of ["</script", "<!--", "eval(", "new Function"]) {
    if (text.toLowerCase().includes(trap.toLowerCase())) throw new Error(`The bundle contains ${JSON.stringify(trap)}.`);
  }
  return { name: basename(target), bytes: code.length, gzipped: gzipSync(code, { level: 9 }).length, limit };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // node build.mjs [FILE [FOLDER OF VIEWS …]]: another place to write to, and views from elsewhere.
  const [target, ...more] = process.argv.slice(2).filter((each) => !each.startsWith("--"));
  for (const { name, bytes, gzipped } of await bundle(target ?? outfile, more)) {
    const most = name.includes("-live-") ? 120 * 1024 : limit;
    console.log(`${name} ${(bytes / 1024).toFixed(1)} KB, ${(gzipped / 1024).toFixed(1)} KB gzipped (limit ${most / 1024} KB)`);
    if (gzipped > most) {
      console.error(`${name} is over its limit.`);
      process.exitCode = 1;
    }
  }
}
