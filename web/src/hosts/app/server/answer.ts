/** A question to the server whose answer a panel shows. */
import { useEffect, useState } from "preact/hooks";

export type Asked<Reply> = { for: string; reply: Reply | null; error: string | null };

/** Asks when the question changes, waits for the user to come to rest, drops answers that come too late. */
export function useAnswer<Reply>(question: string | null, ask: () => Promise<Reply>, rest: number): Asked<Reply> | null {
  const [answer, setAnswer] = useState<Asked<Reply> | null>(null);
  useEffect(() => {
    if (question === null) return;
    let current = true;
    const timer = setTimeout(() => {
      ask().then(
        (reply) => current && setAnswer({ for: question, reply, error: null }),
        (error: unknown) => current && setAnswer({ for: question, reply: null, error: error instanceof Error ? error.message : String(error) }),
      );
    }, rest);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [question]);
  return answer;
}
