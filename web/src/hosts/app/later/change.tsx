/** Attention changed by hand: one weight set by dragging or typing, or a stretch of the text emphasised. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Instrument } from "../../../instrument/instrument";
import type { WantedReply } from "../../../protocol/app";
import type { Tokens } from "../../../protocol/types";
import { copyText, postJson, sentenceOf, useAnswer, useInstrument, valueText, visible } from "../parts";
import type { Session } from "../session";
import { emphasisOf, inPython, inWords, spellEmphasis, spellWeight, weightOf } from "./edits";

interface Props {
  session: Session;
  instrument: Instrument;
}

export function Change({ session, instrument }: Props): JSX.Element | null {
  const state = useInstrument(instrument);
  const { reading, model, senses } = session;
  // A conversation is not in the address, so that its edits could not be kept there.
  if (senses || reading!.of.documents.length || model !== reading!.of.model) return null;
  return (
    <section data-panel="change">
      <h3>Change attention</h3>
      {state.query === null ? <p class="quiet">Click a token or a cell, then set its weights here.</p> : <Weight session={session} instrument={instrument} query={state.query} key={`${state.query} ${state.key}`} />}
      <Emphasise session={session} instrument={instrument} />
      {session.entry?.writes && !session.entry.encoder_decoder && <Wanted session={session} />}
    </section>
  );
}

/** Drag or type: what this head's query puts on a key. The rest of the row keeps its ratios. */
function Weight({ session, instrument, query }: Props & { query: number }): JSX.Element {
  const { kind, layer, head, key } = instrument.state;
  const { query: asks, key: keys } = instrument.reading.tokens(kind);
  const last = kind === "decoder" ? query : keys.text.length - 1;
  const [chosen, setChosen] = useState(Math.min(key ?? 0, last));
  const [row, setRow] = useState<Float32Array | null>(null);
  const [typed, setTyped] = useState<string | null>(null);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    let gone = false;
    setTyped(null);
    instrument.reading.map(kind, layer, head).then((map) => {
      const own = map.slice(query * keys.text.length, (query + 1) * keys.text.length);
      if (gone) return;
      setRow(own);
      if (key === null) setChosen(own.indexOf(Math.max(...own)));
    }, (error: unknown) => setFailed(sentenceOf(error)));
    return () => void (gone = true);
  }, [instrument, kind, layer, head, query]);
  const others = session.edits.filter((edit) => {
    const one = weightOf(edit);
    return !one || one.kind !== kind || one.layer !== layer || one.head !== head || one.query !== query;
  });
  const mine = session.edits.map(weightOf).filter((one) => one && one.kind === kind && one.layer === layer && one.head === head && one.query === query && one.key !== chosen);
  const taken = mine.reduce((sum, one) => sum + one!.weight, 0);
  const now = typed ?? (row ? (row[chosen] ?? 0).toFixed(2) : "");
  const set = (value: string) => {
    const weight = Number(value);
    if (value === "" || !Number.isFinite(weight)) return setTyped(null);
    const held = Math.min(Math.max(0, weight), Math.max(0, 1 - taken));
    setTyped(held.toFixed(2));
    void session.edit([...others, ...mine.map((one) => spellWeight(one!)), spellWeight({ kind, layer, head, query, key: chosen, weight: held })]);
  };
  if (failed) return <p class="quiet">{failed}</p>;
  return (
    <>
      <p class="quiet">What head {layer}-{head} puts on a token, of {visible(asks.text[query] ?? "")}:</p>
      <div class="by-hand">
        <select aria-label="Attended token" data-control="weight-key" value={chosen} onChange={(event) => (setChosen(Number(event.currentTarget.value)), setTyped(null))}>
          {keys.text.slice(0, last + 1).map((text, at) => <option key={at} value={at}>{at}: {visible(text)}</option>)}
        </select>
        <input type="range" data-control="weight-drag" aria-label="Attention weight" min="0" max="1" step="0.01" value={now} disabled={!row} onInput={(event) => setTyped(event.currentTarget.value)} onChange={(event) => set(event.currentTarget.value)} />
        <input type="number" data-control="weight" aria-label="Attention weight, from 0 to 1" min="0" max="1" step="0.01" value={now} disabled={!row} onInput={(event) => setTyped(event.currentTarget.value)} onChange={(event) => set(event.currentTarget.value)} onKeyDown={(event) => event.stopPropagation()} />
      </div>
    </>
  );
}

/** An answer that should follow the text: its log-probability without the edits, and with them. */
function Wanted({ session }: { session: Session }): JSX.Element {
  const { id, of: { off, edits } } = session.reading!;
  const [answer, setAnswer] = useState(wanted.answer);
  wanted.answer = answer;
  const found = useAnswer(answer.trim() ? `${id} ${answer}` : null, (signal) => postJson<WantedReply>("api/wanted", { id, off, edits, answer }, signal), 200);
  const edited = off.length + edits.length > 0;
  return (
    <div class="by-hand emphasise">
      <input type="text" data-control="wanted" placeholder="a wanted answer" aria-label="A wanted answer" title="How likely the model is to continue the text with these words" maxLength={40} value={answer} onInput={(event) => setAnswer(event.currentTarget.value)} onKeyDown={(event) => event.stopPropagation()} />
      {found?.error && <span class="quiet">{found.error}</span>}
      {found?.reply && <span data-wanted>{valueText(found.reply.before)}{edited && ` → ${valueText(found.reply.after)}`} nats</span>}
    </div>
  );
}

/** Stays from reading to reading. */
const wanted = { answer: "" };

/** The tokens of some characters of the first text; each token's string includes the text before it. */
function tokensAt({ written, class: of, segment }: Tokens, start: number, stop: number): [number, number] | null {
  const found: number[] = [];
  let at = 0;
  written!.forEach((each, i) => {
    if (of[i] <= 2 || segment[i] !== 0) return;
    const ends = at + each.length;
    const begins = ends - each.trimStart().length;
    if (begins < stop && ends > start && begins < ends) found.push(i);
    at = ends;
  });
  return found.length ? [found[0], found[found.length - 1] + 1] : null;
}

/** The words selected in the text box, or the selected token. */
function Emphasise({ session, instrument }: Props): JSX.Element {
  const mark = useRef<HTMLDivElement>(null);
  const [selected, setSelected] = useState<[number, number] | null>(null);
  const [factor, setFactor] = useState("4");
  const [alone, setAlone] = useState(false);
  const { kind, layer, head, key, query } = instrument.state;
  const tokens = instrument.reading.tokens(kind).key;
  useEffect(() => {
    const root = mark.current!.getRootNode() as ShadowRoot;
    const look = () => {
      const box = root.querySelector<HTMLTextAreaElement>('[data-control="text"]');
      const some = box && !session.changed && tokens.written && box.selectionStart < box.selectionEnd;
      setSelected(some ? tokensAt(tokens, box.selectionStart, box.selectionEnd) : null);
    };
    look();
    for (const name of ["select", "pointerup", "keyup"]) root.addEventListener(name, look);
    return () => {
      for (const name of ["select", "pointerup", "keyup"]) root.removeEventListener(name, look);
    };
  }, [tokens]);
  const one = key ?? (kind === "cross" ? null : query);
  const span = selected ?? (one === null ? null : ([one, one + 1] as [number, number]));
  const value = Number(factor);
  const right = factor !== "" && value >= 0 && value <= 1e4;
  const emphasise = () => {
    if (!span || !right) return;
    const made = { kind, start: span[0], stop: span[1], factor: value, head: alone ? ([layer, head] as [number, number]) : null };
    const others = session.edits.filter((edit) => {
      const before = emphasisOf(edit);
      return !before || before.start !== made.start || before.stop !== made.stop || before.head?.join() !== made.head?.join();
    });
    void session.edit([...others, spellEmphasis(made)]);
  };
  return (
    <div ref={mark} class="by-hand emphasise">
      <p class="quiet">{span ? <>Emphasise <b class="token-text" data-span={span.join("-")}>{tokens.text.slice(...span).map(visible).join(" ")}</b></> : "Select words above or click a token: heads will attend to it more."}</p>
      <label>× <input type="number" data-control="factor" aria-label="Factor" title="What weights on these tokens are multiplied with; rows keep their sum" min="0" step="0.5" value={factor} onInput={(event) => setFactor(event.currentTarget.value)} onKeyDown={(event) => event.stopPropagation()} /></label>
      <select data-control="emphasis-heads" aria-label="Heads" value={alone ? "one" : "all"} onChange={(event) => setAlone(event.currentTarget.value === "one")}>
        <option value="all">all heads</option>
        <option value="one">head {layer}-{head}</option>
      </select>
      <button class="button" data-control="emphasise" disabled={!span || !right} onClick={emphasise}>emphasise this</button>
    </div>
  );
}

/** In the strip: each edit in words, with the way back, and all of them as Python. */
export function Edits({ session }: { session: Session }): JSX.Element {
  const { edits, reading } = session;
  const [copied, setCopied] = useState(false);
  const [here] = reading?.source.header.parts ?? [];
  const { model, wasRead, off } = reading?.of ?? session;
  const named = (at: number, side: "query" | "key") => visible((side === "query" ? here?.query : (here?.key ?? here?.query))?.text[at] ?? "");
  return (
    <>
      {edits.map((edit) => (
        <b key={edit} data-edit={edit}>
          {inWords(edit, named)}{" "}
          <button class="plain" data-control="undo-edit" aria-label="Undo this edit" onClick={() => void session.edit(edits.filter((each) => each !== edit))}>×</button>
        </b>
      ))}
      <button class="plain" data-control="python" title="Copy these edits as Python" onClick={() => void copyText(inPython(model, wasRead, off, edits)).then(() => setCopied(true))}>{copied ? "copied" : "copy as Python"}</button>
    </>
  );
}
