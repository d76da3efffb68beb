/** The selected head's contribution to the predicted token, requested when opened. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Instrument } from "../../instrument/instrument";
import type { Prediction } from "../../protocol/reading";
import { valueText, visible } from "../../render/dom";
import { useAnswer } from "./server/answer";
import type { Session } from "./session";
import { Terms } from "./terms";

export function Writes({ instrument, session }: { instrument: Instrument; session: Session }): JSX.Element | null {
  const { reading, state } = instrument;
  const [open, setOpen] = useState(false);
  const { id } = session.reading!;
  const found = useAnswer(open ? id : null, () => reading.prediction(), 0);
  if (!reading.canPredict) return null;
  const here = found?.for === id ? found : null;
  return (
    <section data-panel="writes">
      <details open={open} onToggle={(event) => setOpen((event.target as HTMLDetailsElement).open)}>
        <summary>What it writes</summary>
        {here?.reply ? <Written prediction={here.reply} instrument={instrument} session={session} name={`${state.kind}.${state.layer}.${state.head}`} /> : <p class="quiet">{here?.error || "…"}</p>}
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
