/** Present mode: the picture alone, a caption for the back row, and the steps of a tour. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useInstrument, visible } from "../parts";
import type { Instrument } from "../../../instrument/instrument";
import type { Session } from "../session";
import { percent } from "./off_strip";
import { drawnHeads, titleOf } from "./title";

export function Present({ session }: { session: Session }): JSX.Element {
  const { step, mounted, tour } = session;
  const caption = useRef<HTMLElement>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const by = { PageDown: 1, PageUp: -1 }[event.key];
      if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
      void session.walkTour(by);
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  useEffect(() => {
    if (!mounted) return;
    mounted.notice.alone = true;
    mounted.options.leaving = () => fade(mounted.stage);
    mounted.options.below = () => caption.current?.offsetHeight ?? 0;
    return () => {
      mounted.notice.alone = false;
      delete mounted.options.leaving;
      delete mounted.options.below;
    };
  }, [mounted]);
  const at = step !== null ? tour[step] : undefined;
  return (
    <section ref={caption} class="present-caption" data-present aria-live="polite">
      <p>
        {at ? <><b>{at.title}</b> {at.text}</> : mounted && <Shown instrument={mounted} />}
        {at && mounted && <Guess session={session} instrument={mounted} />}
      </p>
      {tour.length > 0 && (
        <>
          <button class="button" data-control="tour-back" aria-label="Previous step" disabled={!step} onClick={() => void session.walkTour(-1)}>‹</button>
          <span>{step === null ? "" : step + 1} / {tour.length}</span>
          <button class="button" data-control="tour-on" aria-label="Next step" disabled={step === tour.length - 1} onClick={() => void session.walkTour(1)}>›</button>
        </>
      )}
      <button class="icon" data-control="leave-present" aria-label="Leave present mode" title="Leave present mode  Shift+P" onClick={() => session.present(false)}>×</button>
    </section>
  );
}

/** What is drawn; of one head also what it does here. */
function Shown({ instrument }: { instrument: Instrument }): JSX.Element {
  const { layer, kind } = useInstrument(instrument);
  const heads = drawnHeads(instrument);
  if (heads?.length !== 1) return <b>{titleOf(instrument)}</b>;
  const label = instrument.reading.has(kind) ? instrument.reading.label(kind, layer, heads[0]) : null;
  // A sink is no name.
  return <><b>Head {layer}-{heads[0]}</b> {label && !label.rests ? `${label.text} · ${label.evidence}` : ""}</>;
}

/** What the model names at the selected token, where it is asked to; while heads are off, the strip says what that changes. */
function Guess({ session, instrument }: { session: Session; instrument: Instrument }): JSX.Element | null {
  const { query } = useInstrument(instrument);
  const { predictions, off, edits } = session;
  const place = typeof predictions === "string" || off.length || edits.length ? undefined : predictions?.places.find(({ position }) => position !== null && position === query);
  if (!place) return null;
  return <span data-guess> Its guess: {place.before.slice(0, 3).map(({ token, probability }) => `${visible(token)} ${percent(probability)} %`).join(" · ")}</span>;
}

/** The picture as it is stays for a moment over the one that takes its place; not for those who want no motion. */
function fade(stage: HTMLElement): void {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches || !stage.firstElementChild) return;
  for (const old of stage.parentElement!.querySelectorAll(".leaving")) old.remove();
  const copy = stage.cloneNode(true) as HTMLElement;
  const drawn = stage.querySelectorAll("canvas");
  copy.querySelectorAll("canvas").forEach((canvas, i) => drawn[i].width && drawn[i].height && canvas.getContext("2d")?.drawImage(drawn[i], 0, 0));
  copy.classList.add("leaving");
  copy.inert = true;
  stage.after(copy);
  void copy.animate([{ opacity: 1 }, { opacity: 0 }], { duration: 180, easing: "ease-out" }).finished.finally(() => copy.remove());
}
