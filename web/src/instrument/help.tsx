import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Instrument } from "./instrument";
import { keyList } from "./keys";

export function Help({ instrument }: { instrument: Instrument }): JSX.Element {
  const tabs = instrument.tabs();
  const keys: [string, string][] = tabs.length > 1 ? [...keyList, [`1 … ${tabs.length}`, tabs.map((tab) => tab.title).join(", ")]] : keyList;
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => close.current?.focus(), []);
  const leave = () => {
    instrument.say({ help: false });
    instrument.root.focus();
  };
  return (
    <div class="dialog" role="dialog" aria-modal="true" aria-label="Keys" data-help onClick={(event) => event.target === event.currentTarget && leave()}>
      <div class="sheet">
        <h3>Keys and gestures</h3>
        <dl>
          {keys.map(([key, meaning]) => (
            <>
              <dt><kbd>{key}</kbd></dt>
              <dd>{meaning}</dd>
            </>
          ))}
        </dl>
        <p><button class="button" ref={close} onClick={leave}>Close</button></p>
      </div>
    </div>
  );
}
