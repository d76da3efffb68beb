/** On a first visit, three steps that are shown once. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";

const seen = "headscope hint seen";
const wide = [
  "Left: every head of the model, layers down, heads across. Click a square to open that head.",
  "Right: the text. Hover a word to see where its attention goes; click to hold it there.",
  "Below the squares: what this head does, in words and numbers, and a switch to turn it off.",
];
/** Where the side column is folded away (app.css). */
const narrow = [
  "▦ opens every head of the model, layers down, heads across. Tap a square to open that head.",
  "Tap a word to see where its attention goes.",
  "Below the squares: what this head does, in words and numbers, and a switch to turn it off.",
];

/** A browser that keeps nothing (a private window) shows it again; it is one click to leave. */
function wasSeen(): boolean {
  try {
    return localStorage.getItem(seen) !== null;
  } catch {
    return true;
  }
}

export function FirstHint(): JSX.Element | null {
  const steps = matchMedia("(max-width: 899px)").matches ? narrow : wide;
  const [step, setStep] = useState(wasSeen() ? steps.length : 0);
  if (step >= steps.length) return null;
  const go = (next: number) => {
    try {
      localStorage.setItem(seen, "yes");
    } catch {
      // Nothing can be kept here.
    }
    setStep(next);
  };
  return (
    <aside class="hint" data-hint aria-label="First steps">
      <p>
        <small>{step + 1} of {steps.length}</small> {steps[step]}
      </p>
      <button class="button primary" data-control="hint-next" onClick={() => go(step + 1)}>{step + 1 < steps.length ? "next" : "done"}</button>
      {step + 1 < steps.length && <button class="plain" data-control="hint-leave" onClick={() => go(steps.length)}>leave</button>}
    </aside>
  );
}
