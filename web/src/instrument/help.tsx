import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Instrument } from "./instrument";
import { keyList } from "./keys";

export function Help({ instrument }: { instrument: Instrument }): JSX.Element {
  const tabs = instrument.tabs();
  const keys = [...keyList];
  if (tabs.length > 1) keys.push([`1 … ${tabs.length}`, tabs.map((tab) => tab.title).join(", ")]);
  if (instrument.options.dial) keys.push(["Shift+P", "present: the picture alone; again to leave"]);
  const dialog = useRef<HTMLDialogElement>(null);
  // A modal dialog holds the focus, and gives it back to where it was. It is one from the moment it
  // is there: an Escape pressed right after the key that asked for it would otherwise be lost.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const leave = () => dialog.current?.close();
  return (
    <dialog
      class="dialog"
      ref={dialog}
      aria-label="Keys and gestures"
      data-help
      onClose={() => (instrument.notice.help = false)}
      onClick={(event) => event.target === event.currentTarget && leave()}
      onKeyDown={(event) => event.key === "?" && leave()}
    >
      <div class="sheet">
        <h2>Keys and gestures</h2>
        <dl>
          {keys.map(([key, meaning]) => (
            <>
              <dt><kbd>{key}</kbd></dt>
              <dd>{meaning}</dd>
            </>
          ))}
        </dl>
        <p><button class="button" onClick={leave}>Close</button></p>
      </div>
    </dialog>
  );
}
