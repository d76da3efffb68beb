/** Everything around the picture: quiet, and never in its way. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { State } from "../protocol/types";
import { useSignals } from "../state/signal";
import { Chips } from "./chips";
import { Finder } from "./finder";
import { Help } from "./help";
import type { Instrument } from "./instrument";
import { LegendMark } from "./legend";
import { Display, Where } from "./options";

/** Re-renders when the state or the line under the picture changes. */
export function useInstrument(instrument: Instrument): State {
  useSignals(instrument.store, instrument.notice.changes);
  return instrument.state;
}

export function Chrome({ instrument, bare }: { instrument: Instrument; bare?: boolean }): JSX.Element {
  const state = useInstrument(instrument);
  const holder = useRef<HTMLDivElement>(null);
  const { header } = instrument.source;
  const definition = instrument.definitionNow();
  const { alone } = instrument.notice;
  const follows = instrument.options.follows || alone;
  const rail = !follows && definition.chips !== "none" && instrument.reading.parts.length > 0 && definition.missing(instrument.reading) === null;
  useLayoutEffect(() => {
    holder.current?.append(instrument.stage);
    instrument.start();
  }, [instrument]);
  const tabs = instrument.options.tabs === false ? [] : instrument.tabs();
  return (
    <>
      {!follows && (
        <div class="top">
          {!bare && <div class="title" title={header.model}>{header.model}</div>}
          {tabs.length > 1 && (
            <div class="tabs" role="tablist" aria-label="Views" onKeyDown={(event) => stepTab(event, instrument, tabs)}>
              {tabs.map((tab) => (
                <button
                  key={tab.name}
                  role="tab"
                  data-view={tab.name}
                  aria-selected={state.view === tab.name}
                  tabIndex={state.view === tab.name ? 0 : -1}
                  onClick={() => instrument.set({ view: tab.name })}
                >
                  {tab.title}
                </button>
              ))}
            </div>
          )}
          <Where instrument={instrument} />
          <Display instrument={instrument} />
          <span class="spring" />
          <button class="icon" title="Find a token  /" aria-label="Find a token" onClick={() => (instrument.notice.finding = true)}>
            find
          </button>
          {!bare && <ThemeButton instrument={instrument} />}
          <button class="icon" data-control="help" title="Keys  ?" aria-label="List of keys" onClick={() => (instrument.notice.help = true)}>
            ?
          </button>
        </div>
      )}
      {header.warnings?.map((warning) => <p class="warning" role="note" key={warning}>{warning}</p>)}
      {header.left_out && <p class="warning quiet" role="note">{header.left_out}</p>}
      <div class={rail ? "body" : "body no-rail"}>
        {rail && <Chips key="rail" instrument={instrument} />}
        <div key="stage" class="stage-holder" ref={holder} />
      </div>
      <div class="foot" hidden={alone}>
        <span data-status>{instrument.notice.status}</span>
        {instrument.notice.legend && <LegendMark legend={instrument.notice.legend} shade={instrument.shade()} />}
        {!bare && header.caption && <span class="caption" title={header.caption}>{header.caption}</span>}
      </div>
      {instrument.notice.help && <Help instrument={instrument} />}
      {instrument.notice.finding && <Finder instrument={instrument} />}
    </>
  );
}

/** Arrows on a tab go to the tab beside it, as everywhere. */
function stepTab(event: KeyboardEvent, instrument: Instrument, tabs: { name: string }[]): void {
  const count = tabs.length;
  const now = tabs.findIndex((tab) => tab.name === instrument.state.view);
  const next = { ArrowRight: now + 1, ArrowLeft: now - 1 + count, Home: 0, End: count - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  const { name } = tabs[next % count];
  instrument.set({ view: name });
  (event.currentTarget as HTMLElement).querySelector<HTMLElement>(`[data-view="${name}"]`)?.focus();
}

const nextTheme = { auto: "light", light: "dark", dark: "auto" } as const;
const themeSign = { auto: "◐", light: "☀", dark: "☾" } as const;

function ThemeButton({ instrument }: { instrument: Instrument }): JSX.Element {
  const { theme } = instrument.state;
  return (
    <button
      class="icon"
      data-control="theme"
      data-theme={theme}
      title={`Theme: ${theme === "auto" ? "as the system" : theme}`}
      aria-label={`Theme: ${theme}. Change`}
      onClick={() => instrument.set({ theme: nextTheme[theme] })}
    >
      {themeSign[theme]}
    </button>
  );
}
