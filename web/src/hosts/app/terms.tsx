/** Terms with definitions from the glossary, for pointer, keyboard and touch. */
import type { JSX, TargetedEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Tooltip } from "../../render/tooltip";
import type { Session } from "./session";

const meaning = (session: Session, word: string) => session.models?.glossary[word.toLowerCase()];

/** The one panel for what terms mean; it lies over the app. */
export function Tips({ session }: { session: Session }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => void (session.tips = new Tooltip(place.current!)), []);
  return <div class="tips" ref={place} />;
}

/** A sentence with definitions for its terms. */
export function Terms({ session, children }: { session: Session; children: string | null | undefined }): JSX.Element {
  return <>{children?.split(/(\w+)/).map((word) => (meaning(session, word) ? <Term session={session} text={word} says={meaning(session, word)!} /> : word))}</>;
}

/** A name with its own sentence, beside the glossary's definitions. */
export function Named({ session, text, note }: { session: Session; text: string; note: string }): JSX.Element {
  const known = text.split(/\W+/).flatMap((word) => (meaning(session, word) ? `${word}: ${meaning(session, word)}.` : []));
  return <Term session={session} text={text} says={[note, ...known].filter(Boolean).join(" ")} />;
}

function Term({ session, text, says }: { session: Session; text: string; says: string }): JSX.Element {
  if (!says) return <>{text}</>;
  const hide = () => session.tips?.hide();
  const show = ({ currentTarget }: TargetedEvent<HTMLElement>) => {
    const { left, bottom } = currentTarget.getBoundingClientRect();
    session.tips?.show({ title: text, note: says }, left - 14, bottom - 10);
    currentTarget.closest(".side")?.addEventListener("scroll", hide, { once: true });
  };
  const key = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    hide();
  };
  return <button type="button" class="term" aria-describedby="tooltip" onMouseEnter={show} onFocus={show} onClick={show} onMouseLeave={hide} onBlur={hide} onKeyDown={key}>{text}</button>;
}
