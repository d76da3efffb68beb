/** "/" finds a token: type a part of it, Enter pins it. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { visible } from "../render/dom";
import type { Instrument } from "./instrument";

export function Finder({ instrument }: { instrument: Instrument }): JSX.Element {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  // At once, so that letters typed right after "/" go into the field.
  useLayoutEffect(() => {
    const { root } = instrument;
    const before = (root.getRootNode() as ShadowRoot).activeElement as HTMLElement | null;
    input.current?.focus();
    return () => (before && root.contains(before) ? before : root).focus();
  }, []);
  const { state, reading } = instrument;
  const { query, key } = reading.tokens(state.kind);
  const wanted = text.toLowerCase();
  const list = (side: "query" | "key", tokens: string[]) =>
    tokens.map((token, index) => ({ side, token, index })).filter((each) => wanted === "" || each.token.toLowerCase().includes(wanted));
  const found = [...list("query", query.text), ...(query === key ? [] : list("key", key.text))].slice(0, 60);
  const choose = (entry: (typeof found)[number] | undefined) => {
    instrument.notice.finding = false;
    if (entry) instrument.set(entry.side === "query" ? { query: entry.index, key: null } : { key: entry.index, query: null });
  };
  return (
    <div class="finder" role="search">
      <input
        ref={input}
        type="text"
        data-control="find-token"
        placeholder="find a token"
        aria-label="Find a token"
        role="combobox"
        aria-expanded="true"
        aria-controls="found"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") choose(found[at]);
          else if (event.key === "ArrowDown") setAt(Math.min(found.length - 1, at + 1));
          else if (event.key === "Escape") choose(undefined);
          else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      <ul role="listbox" id="found">
        {found.slice(0, 12).map((entry, i) => (
          <li role="option" aria-selected={i === at} key={`${entry.side}${entry.index}`} onClick={() => choose(entry)}>
            <span>{visible(entry.token)}</span>
            <small>{entry.side} {entry.index}</small>
          </li>
        ))}
        {found.length === 0 && <li>No token holds “{text}”.</li>}
      </ul>
    </div>
  );
}
