/** What "auto" means: the theme of the notebook around a widget where it names one, else the system's. */
import type { Shade } from "../render/palette";

const system = () => globalThis.matchMedia?.("(prefers-color-scheme: dark)");

export function shadeAround(): Shade {
  const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
  if (jpThemeLight) return jpThemeLight === "true" ? "light" : "dark";
  if (vscodeThemeKind) return vscodeThemeKind.endsWith("light") ? "light" : "dark";
  return system()?.matches ? "dark" : "light";
}

/** Calls when it changes, until the returned function is called. */
export function watchShade(onChange: (around: Shade) => void): () => void {
  let last = shadeAround();
  const look = () => {
    const now = shadeAround();
    if (now !== last) onChange(now);
    last = now;
  };
  const query = system();
  const themes = new MutationObserver(look);
  themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-vscode-theme-kind"] });
  query?.addEventListener("change", look);
  return () => {
    themes.disconnect();
    query?.removeEventListener("change", look);
  };
}
