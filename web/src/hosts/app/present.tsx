/** Present mode: the picture alone, a caption for the back row, and the steps of a tour. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Session } from "./session";

export function Present({ session, frame }: { session: Session; frame: HTMLElement }): JSX.Element | null {
  const { presenting, step, mounted } = session;
  const tour = session.models?.tour ?? [];
  frame.classList.toggle("presenting", presenting);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const typing = /^(TEXTAREA|INPUT|SELECT)$/.test((event.composedPath()[0] as HTMLElement).tagName ?? "");
      const by = { PageDown: 1, PageUp: -1 }[event.key];
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "P") session.present(!session.presenting);
      else if (by && session.presenting) void session.walkTour(by);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  useEffect(() => {
    if (mounted) mounted.notice.alone = presenting;
  }, [mounted, presenting]);
  if (!presenting) return null;
  const at = step !== null ? tour[step] : undefined;
  const { layer, head: selected, heads, kind } = mounted?.state ?? { layer: 0, head: 0, heads: null, kind: "encoder" };
  // What is drawn, where one head is drawn.
  const head = heads?.length === 1 && mounted?.definitionNow().chips === "many" ? heads[0] : selected;
  const label = mounted?.reading.has(kind) ? mounted.reading.label(kind, layer, head) : null;
  return (
    <section class="present-caption" data-present aria-live="polite">
      <p>{at ? <><b>{at.title}</b> {at.text}</> : <><b>Head {layer}-{head}</b> {label ? `${label.text} · ${label.evidence}` : ""}</>}</p>
      {tour.length > 0 && (
        <>
          <button class="button" data-control="tour-back" aria-label="Step before" disabled={!step} onClick={() => void session.walkTour(-1)}>‹</button>
          <span>{step === null ? "" : step + 1} / {tour.length}</span>
          <button class="button" data-control="tour-on" aria-label="Next step" disabled={step === tour.length - 1} onClick={() => void session.walkTour(1)}>›</button>
        </>
      )}
      <button class="icon" data-control="leave-present" aria-label="Leave present mode" title="Leave present mode  P" onClick={() => session.present(false)}>×</button>
    </section>
  );
}
