/** The button that lets the model write, and the state that explains a token. */
import type { JSX } from "preact";
import type { State } from "../../protocol/types";
import type { Session } from "./session";

export function WriteButton({ session }: { session: Session }): JSX.Element | null {
  if (!session.entry?.writes) return null;
  if (session.isWriting) return <button class="button" data-control="stop-writing" onClick={() => session.stopWriting()}>stop</button>;
  const title = session.writing ? "Let the model write more tokens" : "Let the model continue this text";
  return (
    <button class="button" data-control="write" title={title} disabled={session.phase === "loading" || session.writing?.done} onClick={() => void session.write()}>
      {session.writing ? "write more" : "write"}
    </button>
  );
}

/** The state that explains a token of the text on screen. */
export const explaining = (token: number): Partial<State> => ({ token: String(token), target: "", rather: "" }) as Partial<State>;
