/** What the head in hand writes towards the predicted token; asked for when it is opened. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Instrument } from "../../instrument/instrument";
import type { Prediction } from "../../protocol/reading";
import { valueText, visible } from "../../render/dom";
import type { Session } from "./session";
import { Terms } from "./terms";

export function Writes({ instrument, session }: { instrument: Instrument; session: Session }): JSX.Element | null {
  const { reading, state } = instrument;
  const [open, setOpen] = useState(false);
  const [found, setFound] = useState<{ of: unknown; prediction: Prediction | null; error: string } | null>(null);
  useEffect(() => {
    if (!open || found?.of === reading) return;
    let current = true;
    reading.prediction(null).then(
      (prediction) => current && setFound({ of: reading, prediction, error: "" }),
      (error: unknown) => current && setFound({ of: reading, prediction: null, error: error instanceof Error ? error.message : String(error) }),
    );
    return () => void (current = false);
  }, [open, reading]);
  if (!reading.canPredict) return null;
  const here = found?.of === reading ? found : null;
  return (
    <section data-panel="writes">
      <details open={open} onToggle={(event) => setOpen((event.target as HTMLDetailsElement).open)}>
        <summary>What it writes</summary>
        {here?.prediction ? <Written prediction={here.prediction} instrument={instrument} session={session} name={`${state.kind}.${state.layer}.${state.head}`} /> : <p class="quiet">{here?.error || "…"}</p>}
      </details>
    </section>
  );
}

function Written({ prediction, instrument, session, name }: { prediction: Prediction; instrument: Instrument; session: Session; name: string }): JSX.Element {
  const { header } = prediction;
  const [, layer, head] = name.split(".").map(Number);
  const part = header.parts.find((each) => each.part === "head" && name === `${each.kind}.${each.layer}.${each.head}`);
  const [up, down] = header.promotes[name] ?? [[], []];
  const listed = (tokens: string[]) => tokens.slice(0, 5).map(visible).join(" · ");
  return (
    <>
      {part ? (
        <p>Adds <b>{valueText(part.value)}</b> to the <Terms session={session}>logit</Terms> of <b>{visible(header.target[0])}</b>.</p>
      ) : (
        <p class="quiet">Head {layer}-{head} is not among the {header.parts.length} parts that matter most for the <Terms session={session}>logit</Terms> of “{visible(header.target[0])}”.</p>
      )}
      {up.length > 0 && <p class="quiet">raises {listed(up)}</p>}
      {down.length > 0 && <p class="quiet">lowers {listed(down)}</p>}
      <button class="plain" onClick={() => instrument.set({ view: "prediction" })}>see the whole prediction</button>
    </>
  );
}
