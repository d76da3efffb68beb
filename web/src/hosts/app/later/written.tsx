/** What the model writes: the growing text, and steps through the new tokens. */
import type { JSX } from "preact";
import type { Instrument } from "../../../instrument/instrument";
import type { AppHeader } from "../../../protocol/app";
import { explaining, visible } from "../parts";
import type { Session } from "../session";

/** While it writes: what there is so far. */
export function Growing({ session }: { session: Session }): JSX.Element {
  return (
    <div class="growing" role="status" data-growing>
      <span class="quiet">{session.text}</span>
      <b>{session.writing?.steps.map((step) => step.token).join("") ?? ""}</b>
      <span class="caret">▍</span>
    </div>
  );
}

/** One step: the token that was chosen, what else was weighed, and the query whose attention made it. */
export function Written({ instrument }: { instrument: Instrument }): JSX.Element | null {
  // From the picture on screen, because the text may still grow.
  const { writing, prompt_tokens } = instrument.source.header as AppHeader;
  if (!writing?.steps.length || !prompt_tokens) return null;
  const first = writing.prompt_tokens;
  const { query, kind } = instrument.state;
  const own = kind === "encoder" ? null : query;
  const at = own === null ? -1 : own - (first - 1);
  const inside = at >= 0 && at < writing.steps.length;
  const to = (step: number) => {
    const change = { query: first - 1 + step, key: null, also: [], side: "query" };
    instrument.set({ ...(kind === "encoder" ? { kind: "decoder" as const } : {}), ...change });
  };
  const step = inside ? writing.steps[at] : null;
  return (
    <section data-panel="written">
      <h3>What the model wrote</h3>
      <p class="stepper">
        <button class="step" aria-label="Previous step" disabled={!inside || at === 0} onClick={() => to(at - 1)}>‹</button>
        <span>{inside ? `step ${at + 1} of ${writing.steps.length}` : `${writing.steps.length} steps`}</span>
        <button class="step" data-control="next-step" aria-label="Next step" disabled={inside && at === writing.steps.length - 1} onClick={() => to(inside ? at + 1 : 0)}>›</button>
      </p>
      {step ? (
        <>
          <p>wrote <b class="token-text">{visible(step.token)}</b>; weighed:</p>
          <ul class="meters">
            {step.choices.map((choice, i) => (
              <li key={i}>
                <span class={i ? "quiet" : ""}>{visible(choice.token)}</span>
                <meter min={0} max={1} value={choice.probability} aria-label={`probability ${choice.probability.toFixed(3)}`} />
                <b>{choice.probability.toFixed(3)}</b>
              </li>
            ))}
          </ul>
          <button class="plain" data-control="why-token" onClick={() => instrument.set({ view: "prediction", ...explaining(first + at) })}>why this token?</button>
          <p class="quiet">The model predicted this token from the one before it. That one is now selected, and the picture shows what it attends to.</p>
        </>
      ) : (
        <p class="quiet">Step through the new tokens: each with its alternatives, and what the model attended to.</p>
      )}
      {writing.done && <p class="quiet">The model ended the text here.</p>}
    </section>
  );
}
