/** The choice of what to compare a reading with. */
import type { JSX } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import type { Instrument } from "../../instrument/instrument";
import { later } from "./later";
import { allOn, anotherText } from "./placed";
import type { Session } from "./session";

export const Compared = later<{ session: Session; instrument: Instrument }>(async () => (await import("./later/compare")).Compared);
export const ChangeMap = later<{ session: Session; instrument: Instrument }>(async () => (await import("./later/compare")).ChangeMap);
export const Match = later<{ session: Session; instrument: Instrument }>(async () => (await import("./later/compare")).Match);

/** Another model, another text, or this model before heads were switched off. */
export function Against({ session }: { session: Session }): JSX.Element | null {
  const others = session.models?.models.filter((each) => each.id !== session.model) ?? [];
  return (
    <label class="field">
      <span class="sr">Compare with</span>
      <select
        data-control="against"
        class={session.against ? "" : "icon"}
        value={session.against}
        onChange={(event) => {
          session.against = event.currentTarget.value;
          if (session.against !== anotherText || session.againstText.trim()) void session.read();
        }}
      >
        <option value="">{session.against ? "stop comparing" : "compare"}</option>
        {session.off.length + session.edits.length > 0 && <option value={allOn}>{session.edits.length ? "without edits" : "every head on"}</option>}
        <option value={anotherText}>another text…</option>
        {others.map((model) => <option value={model.id} key={model.id}>{model.title}</option>)}
      </select>
    </label>
  );
}

/** The other text, where one is compared with. */
export function AgainstText({ session }: { session: Session }): JSX.Element | null {
  const { againstText } = session;
  const [typed, setTyped] = useState(againstText);
  useLayoutEffect(() => setTyped(againstText), [againstText]);
  if (session.against !== anotherText) return null;
  return (
    <textarea
      rows={1}
      data-control="against-text"
      placeholder="The other text"
      aria-label="Text to compare with"
      title="Text to compare with: Enter reads, Shift+Enter starts a new line"
      value={typed}
      onInput={(event) => setTyped(event.currentTarget.value)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key !== "Enter" || event.shiftKey) return;
        event.preventDefault();
        session.againstText = typed;
        void session.read();
      }}
    />
  );
}
