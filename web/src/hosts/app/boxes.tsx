/** Text boxes that grow, and the number of tokens below them against the model's limit. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { TokensReply } from "../../protocol/app";
import { number } from "../../render/dom";
import { useAnswer } from "./server/answer";
import { engine, postJson } from "./server/api";
import { AgainstText } from "./against";
import { later } from "./later";
import { anotherText } from "./placed";
import type { Session } from "./session";

const Documents = later<{ session: Session }>(async () => (await import("./later/documents")).Documents);
const AsTyped = later<{ session: Session }>(async () => (await import("./later/as_typed")).AsTyped);
const DropZone = later<{ session: Session }>(async () => (await import("./later/media")).DropZone);

/** Characters that a box in the header's row shows; a longer text has a row to itself. */
const oneRow = 60;

export function Boxes({ session, onRead }: { session: Session; onRead: () => void }): JSX.Element {
  const asks = session.converses && session.documents.length > 0;
  const [first, second] = asks ? ["Question", "Answer (optional)"] : ["Sentence A", session.entry?.encoder_decoder ? "Decoder text" : "Sentence B"];
  const { entry, pair, wasRead } = session;
  // A decoder has no second sentence, but a question over documents has an answer.
  const hasSecond = asks || !entry?.causal || entry.encoder_decoder || !!(pair || wasRead.pair);
  // The text on screen decides, so that the box keeps its place while one types.
  const isLong = Math.max(wasRead.text.length, wasRead.pair.length) > oneRow || session.against === anotherText;
  if (session.senses) {
    return (
      <div class="texts">
        <DropZone session={session} />
        {session.about && <TextBox session={session} which="text" label={session.about} onRead={onRead} />}
      </div>
    );
  }
  return (
    // Space for a text while it is typed, not on focus: otherwise a click elsewhere would move its target.
    <div class={`texts${session.changed ? " typing" : ""}${isLong ? " long" : ""}`}>
      <TextBox session={session} which="text" label={first} onRead={onRead} />
      {hasSecond && <TextBox session={session} which="pair" label={second} onRead={onRead} />}
      <AgainstText session={session} />
      {session.converses && <Documents session={session} />}
      <Count session={session} />
      {engine && <AsTyped session={session} />}
    </div>
  );
}

interface BoxProps {
  session: Session;
  which: "text" | "pair";
  label: string;
  onRead: () => void;
}

function TextBox({ session, which, label, onRead }: BoxProps): JSX.Element {
  const box = useRef<HTMLTextAreaElement>(null);
  const value = session[which];
  useLayoutEffect(() => {
    if (box.current && box.current.value !== value) box.current.value = value;
  }, [value]);
  return (
    <textarea
      ref={box}
      rows={1}
      data-control={which === "text" ? "text" : "text-pair"}
      placeholder={label}
      aria-label={label}
      aria-describedby="count"
      title={`${label}: Enter reads, Shift+Enter starts a new line`}
      onInput={(event) => (session[which] = event.currentTarget.value)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key !== "Enter" || event.shiftKey) return;
        event.preventDefault();
        onRead();
      }}
    />
  );
}

/** The number of tokens against the limit while typing, and whether the typed text differs from the one on screen. */
function Count({ session }: { session: Session }): JSX.Element {
  const { model, text, pair, models, tooMany } = session;
  const question = !session.entry || tooMany || !text.trim() ? null : JSON.stringify([model, text, pair]);
  const request = { model, text, text_pair: pair.trim() ? pair : null, off: [] };
  const counted = useAnswer(question, async (signal) => ({ ...(await postJson<TokensReply>("api/tokens", request, signal)), by: model }), 250)?.reply;
  const limit = models?.max_characters ?? 0;
  if (tooMany) {
    return (
      <p class="count warn" id="count" role="status">
        {number(tooMany)} characters more than the {number(limit)} that are read here: shorten the text, or use headscope view for long ones
      </p>
    );
  }
  const notes: JSX.Element[] = [];
  // The letters typed since are soon counted too; another model has another limit.
  if (counted?.tokens && counted.by === model && text.trim()) {
    const over = counted.limit !== null && counted.tokens > counted.limit;
    notes.push(
      <span key="tokens" class={over ? "warn" : ""} data-tokens={counted.tokens}>
        {number(counted.tokens)}{counted.limit === null ? "" : ` of ${number(counted.limit)}`} tokens{over ? ", too long" : ""}
      </span>,
    );
    if (counted.unknown) {
      const many = counted.unknown * 4 >= counted.tokens;
      notes.push(
        <span key="unknown" class={many ? "warn" : ""}>
          {number(counted.unknown)} unknown to the model{many ? ": this text is not in its language" : ""}
        </span>,
      );
    }
  }
  if (session.changed && session.reading && !(engine && text.trim())) notes.push(text.trim() ? <b key="changed">changed: press read</b> : <b key="empty">type a text to read</b>);
  return <p class="count" id="count" role="status">{notes}</p>;
}
