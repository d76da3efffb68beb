/** The app on one screen: head map, view, this head; and the screens before and between readings. */
import { render } from "preact";
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useInstrument } from "../../instrument/chrome";
import { adoptStyle } from "../../instrument/definitions";
import type { Instrument } from "../../instrument/instrument";
import { make, number } from "../../render/dom";
import type { Kind, State } from "../../protocol/types";
import { useSignals } from "../../state/signal";
import { mountInto } from "../mount";
import style from "./app.css";
import { Compared } from "./against";
import { AtlasLayer } from "./atlas";
import { AppHeader } from "./header";
import { LessonCard } from "./lesson";
import { Dial } from "./dial";
import { later } from "./later";
import { HeadPanel } from "./panel";
import { written } from "./placed";
import { engine } from "./server/api";
import { Session } from "./session";
import { Tips } from "./terms";
import { Queue } from "./waiting";

const Present = later<{ session: Session }>(async () => (await import("./later/present")).Present);
const FirstHint = later(async () => (await import("./later/hint")).FirstHint);
const Growing = later<{ session: Session }>(async () => (await import("./later/written")).Growing);
const OffStrip = later<{ session: Session }>(async () => (await import("./later/off_strip")).OffStrip);
const Tour = later<{ session: Session }>(async () => (await import("./later/tour")).TourPanel);

function App({ session, frame, onReady }: { session: Session; frame: HTMLElement; onReady: () => void }): JSX.Element {
  const [unfolded, setUnfolded] = useState(false);
  const holder = useRef<HTMLDivElement>(null);
  const { reading, theme, mounted } = session;
  useSignals(session.changes);
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      const typing = /^(TEXTAREA|INPUT|SELECT)$/.test((event.composedPath()[0] as HTMLElement).tagName ?? "");
      if (event.key === "P" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) session.present(!session.presenting);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  useLayoutEffect(() => {
    if (!reading || !holder.current) return;
    const options = { fill: true, dial: true, other: reading.other?.source, onState: (state: State) => session.follow(state) };
    const { instrument } = mountInto(holder.current, reading.source, options, true);
    session.follow(instrument.state);
    session.mounted = instrument;
    void instrument.ready.then(onReady);
    return () => instrument.unmount();
  }, [reading]);
  useLayoutEffect(() => {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const apply = () => (frame.dataset["shade"] = theme === "dark" || (theme === "auto" && system.matches) ? "dark" : "light");
    apply();
    system.addEventListener("change", apply);
    mounted?.set({ theme });
    if (reading) session.note();
    return () => system.removeEventListener("change", apply);
  }, [theme, mounted]);
  frame.classList.toggle("presenting", session.presenting);
  // In a live page the last picture stays below the error of the next text.
  const kept = !!engine && !!reading && (session.phase === "error" || session.phase === "too-long");
  const covered = session.phase !== "ready" && !(session.phase === "loading" && reading) && !kept;
  // Beside an error the numbers of the text before would look like those of this one.
  const current = mounted && mounted.source === reading?.source && !covered ? mounted : null;
  useLayoutEffect(() => {
    if (!current) return;
    // By the requested state: a switch is off before the picture without its head arrives.
    const switches = { isOff: session.isOff.bind(session), flip: (kind: Kind, layer: number, head: number) => void session.switchHead(kind, layer, head) };
    current.notice.switches = session.model === reading?.of.model ? switches : null;
  }, [current, session.off, session.model]);
  useLayoutEffect(() => {
    // Not in a comparison, which shows the other picture, nor in a live page, where every pass is slow.
    if (!current || !reading?.of.off.length || reading.other || session.senses || engine) return;
    const end = current.painting.begin();
    void import("./later/ghosts").then(({ haunt }) => haunt(session, current)).catch(() => undefined).finally(end);
  }, [current]);
  return (
    <>
      <AppHeader session={session} fold={() => setUnfolded(!unfolded)} />
      {session.atlasSeen && session.models && <AtlasLayer key={session.model} session={session} />}
      <div hidden={session.inAtlas} class={`app-main${unfolded ? " unfolded" : ""}`} data-state={session.phase} aria-busy={session.phase === "loading"}>
        {current ? <Side session={session} instrument={current} /> : <aside class="side" aria-label="Heads" />}
        <main class="centre">
          {session.phase === "loading" && reading && <div class="busy reading" role="status"><span class="sr">Reading…</span></div>}
          <Queue session={session} />
          {session.isWriting && <Growing session={session} />}
          {!covered && session.off.length + session.edits.length > 0 && <OffStrip session={session} />}
          <div class={reading?.other ? "pair" : "alone"} hidden={covered}>
            <div class="app-view" ref={holder} />
            {reading?.other && mounted && mounted.source === reading.source && <Compared key={reading.id} session={session} instrument={mounted} />}
          </div>
          {!covered && reading && <FirstHint />}
          {covered && <Cover session={session} />}
          {kept && <div class="queue" data-kept><Cover session={session} /></div>}
        </main>
      </div>
      {session.presenting && <Present session={session} />}
      {session.tourOpen && <Tour session={session} />}
      <Tips session={session} />
    </>
  );
}

/** The dial, the example's lesson, and the selected head. */
function Side({ session, instrument }: { session: Session; instrument: Instrument }): JSX.Element {
  const state = useInstrument(instrument);
  return (
    <aside class="side" aria-label="Heads">
      <Dial session={session} instrument={instrument} />
      <LessonCard session={session} state={state} />
      <HeadPanel session={session} instrument={instrument} />
    </aside>
  );
}

/** Messages without a picture: nothing read yet, reading, too long, failed. */
function Cover({ session }: { session: Session }): JSX.Element {
  const { phase, tooLong, models } = session;
  if (phase === "starting" || phase === "loading") {
    return (
      <div class="message busy" role="status">
        <strong>{phase === "starting" ? "Starting…" : "Reading…"}</strong>
        <p>{phase === "loading" ? "The first reading of a model also loads it." : session.opening && `${session.opening}…`}</p>
      </div>
    );
  }
  if (phase === "too-long" && tooLong) {
    return (
      <div class="message" role="alert">
        <strong>This text has {number(tooLong.tokens)} tokens; the model reads at most {number(tooLong.limit)}.</strong>
        <p>Shorten it, choose a model that reads more, or read its beginning.</p>
        <button class="button primary" data-control="truncate" onClick={() => void session.read(true, true)}>read the first {number(tooLong.limit)} tokens</button>
      </div>
    );
  }
  if (phase === "error" && models && !session.entry) {
    return (
      <div class="message" role="alert">
        <strong>{session.message}</strong>
        <div class="cards">
          {models.models.map((model) => <button class="card" key={model.id} data-model={model.id} onClick={() => void session.choose(model.id)}><b>{model.title}</b></button>)}
        </div>
      </div>
    );
  }
  if (phase === "error") {
    return (
      <div class="message" role="alert">
        <strong>{session.message}</strong>
        <button class="button" onClick={() => void (models ? session.read() : session.start())}>try again</button>
      </div>
    );
  }
  return (
    <div class="message">
      <strong>Type a sentence or two above, and see what every head attends to.</strong>
      <p>Or begin with one of these:</p>
      <div class="cards">
        {session.examples().map((example, i) => (
          <button class="card" key={i} data-example={i} onClick={() => void session.useExample(example)}>
            <b>{example.title}</b>
            <span>{example.text}</span>
            {example.text_pair && <span>{example.text_pair}</span>}
          </button>
        ))}
      </div>
    </div>
  );
}

export interface AppElement extends HTMLElement {
  headscopeApp?: { ready: Promise<void>; readonly id: string | null };
}

export function mountApp(element: AppElement): void {
  const root = element.attachShadow({ mode: "open" });
  adoptStyle(root);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  const frame = make("div", { class: "hs app" });
  root.append(frame);
  const session = new Session(written());
  let onReady = () => undefined as void;
  const ready = new Promise<void>((resolve) => (onReady = resolve));
  element.headscopeApp = {
    ready,
    get id() {
      return session.reading?.id ?? null;
    },
  };
  render(<App session={session} frame={frame} onReady={() => onReady()} />, frame);
  addEventListener("popstate", () => void session.go(written()));
  void session.start();
}
