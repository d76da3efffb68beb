/**
 * Bundles the front end and measures it: one ES module that may be inlined in a page, and for every folder of
 * src/more a script with views that only some pages need. It stands before the module, or is loaded when it is
 * asked for, and leaves its views where the module looks for them. The app is a folder of modules of its own:
 * those of its first screen, and those that it imports when they are asked for.
 */
import { build, transform } from "esbuild";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
function entry(last, left) {
  const all = readdirSync(join(here, "src"), { recursive: true }).map((path) => path.replaceAll("\\", "/")).sort();
  const found = all.filter((path) => !left.some((folder) => path.startsWith(folder)));
  const styles = found.filter((path) => path.endsWith(".css"));
  const shared = found.filter((path) => /^(protocol|render)\/.*(?<!\.d)\.tsx?$/.test(path));
  const first = [...styles, ...shared].map((path) => `import "./src/${path}";`);
  return [...first, ...last].join("\n");
}

const pageEntry = () => entry(['export * from "./src/index";', 'export { default } from "./src/index";'], ["more/", "hosts/app/"]);
const appEntry = () => entry(['import "./src/hosts/app/index";'], ["more/", "hosts/app/later/"]);

const leaveViews = 'import views from "virtual:views"; (globalThis.headscopeViews ??= []).push(...views);';

/** Writes headscope.js and its further scripts beside it; `more`: folders of views from elsewhere. */
export async function bundle(target = outfile, more = []) {
  const beside = further.map((name) => write(target.replace(/\.js$/, `-${name}.js`), "iife", leaveViews, [join(here, "src/more", name)]));
  const live = ["page", "worker"].map((name) => write(target.replace(/\.js$/, `-live-${name}.js`), "iife", `import "./src/live/${name}";`, []));
  const whole = write(target.replace(/\.js$/, "-live-app.js"), "esm", appEntry(), [ownViews, ...more]);
  writeEngine(target);
  return Promise.all([write(target, "esm", pageEntry(), [ownViews, ...more]), ...beside, ...live, whole, writeApp(join(dirname(target), "app"), [ownViews, ...more])]);
}

/** The app as its server hands it out; measured is what the first screen loads. */
async function writeApp(folder, folders) {
  rmSync(folder, { recursive: true, force: true });
  const { metafile } = await build({
    ...settings(folders),
    stdin: { contents: appEntry(), resolveDir: here },
    outdir: folder,
    entryNames: "app",
    chunkNames: "[name]-[hash]",
    format: "esm",
    splitting: true,
    metafile: true,
  });
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]));
  const first = new Set(["app.js"]);
  for (const name of first) {
    for (const { path, kind } of outputs.get(name).imports) if (kind === "import-statement") first.add(basename(path));
  }
  const codes = [...first].map((name) => readFileSync(join(folder, name)));
  const sum = (sizes) => sizes.reduce((total, size) => total + size, 0);
  return { name: "app/app.js", bytes: sum(codes.map((code) => code.length)), gzipped: sum(codes.map((code) => gzipSync(code, { level: 9 }).length)), limit };
}

const settings = (folders) => ({
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  plugins: [discoverViews(folders), cssAsText],
});

/** onnxruntime's WebAssembly, compressed as live pages carry it. */
function writeEngine(target) {
  mkdirSync(dirname(target), { recursive: true });
  const wasm = readFileSync(join(here, "node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm"));
  writeFileSync(join(dirname(target), "onnxruntime.wasm.deflate"), deflateRawSync(wasm, { level: 9 }));
}

async function write(target, format, contents, folders) {
  await build({
    ...settings(folders),
    stdin: { contents, resolveDir: here },
    outfile: target,
    format,
    // A worker made of text in a page has no address of its own that a module could stand beside.
    define: format === "iife" ? { "import.meta.url": "self.location.href" } : {},
  });
  const code = readFileSync(target);
  const text = code.toString("utf8");
  // The bundle is inlined into pages, where these would end or disguise the script element.
  for (const trap of ["</script", "<!--", "eval(", "new Function"]) {
    if (text.toLowerCase().includes(trap.toLowerCase())) throw new Error(`The bundle contains ${JSON.stringify(trap)}.`);
  }
  // A live page holds a model of many megabytes, and all of the app.
  return { name: basename(target), bytes: code.length, gzipped: gzipSync(code, { level: 9 }).length, limit: target.includes("-live-") ? 120 * 1024 : limit };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // node build.mjs [FILE [FOLDER OF VIEWS …]]: another place to write to, and views from elsewhere.
  const [target, ...more] = process.argv.slice(2).filter((each) => !each.startsWith("--"));
  for (const { name, bytes, gzipped, limit: most } of await bundle(target ?? outfile, more)) {
    console.log(`${name} ${(bytes / 1024).toFixed(1)} KB, ${(gzipped / 1024).toFixed(1)} KB gzipped (limit ${most / 1024} KB)`);
    if (gzipped > most) {
      console.error(`${name} is over its limit.`);
      process.exitCode = 1;
    }
  }
}
