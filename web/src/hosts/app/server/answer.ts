/** A question to the server whose answer a panel shows. */
import { useEffect, useState } from "preact/hooks";
import { sentenceOf } from "../../../render/dom";

export type Asked<Reply> = { for: string; reply: Reply | null; error: string | null };

/** Sends the request when it changes and the user pauses; drops the answer to an earlier one. */
export function useAnswer<Reply>(question: string | null, ask: (signal: AbortSignal) => Promise<Reply>, rest: number): Asked<Reply> | null {
  const [answer, setAnswer] = useState<Asked<Reply> | null>(null);
  useEffect(() => {
    if (question === null) return;
    const asking = new AbortController();
    const { signal } = asking;
    const timer = setTimeout(() => {
      ask(signal).then(
        (reply) => signal.aborted || setAnswer({ for: question, reply, error: null }),
        (error: unknown) => signal.aborted || setAnswer({ for: question, reply: null, error: sentenceOf(error) }),
      );
    }, rest);
    return () => {
      clearTimeout(timer);
      asking.abort();
    };
  }, [question]);
  return answer;
}
