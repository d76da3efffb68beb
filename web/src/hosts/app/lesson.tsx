/** The lesson of the example on screen. */
import type { JSX } from "preact";
import type { AppHeader } from "../../protocol/app";
import type { State } from "../../protocol/types";
import type { Session } from "./session";

/** It belongs to its text, its head and the model without edits, and goes when one of them does. */
export function LessonCard({ session, state }: { session: Session; state: State }): JSX.Element | null {
  const { source, of } = session.reading!;
  const { lesson } = source.header as AppHeader;
  if (!lesson || session.lessonClosed || of.off.length + of.edits.length) return null;
  if (lesson.layer !== undefined && (lesson.layer !== state.layer || lesson.head !== state.head)) return null;
  return (
    <section class="lesson" data-lesson aria-label={`Example: ${lesson.title}`}>
      <p>
        <b>{lesson.title}.</b> {lesson.says} <i>Try: {lesson.tries}</i>
      </p>
      <button class="icon" data-control="close-lesson" aria-label="Close the example's note" onClick={() => (session.lessonClosed = true)}>×</button>
    </section>
  );
}
