/** A sentence whose terms say what they mean, in the words of the glossary. */
import type { JSX } from "preact";
import type { Session } from "./session";

export function Terms({ session, children }: { session: Session; children: string | null | undefined }): JSX.Element {
  const known = session.models?.glossary ?? {};
  return <>{children?.split(/(\w+)/).map((word) => (known[word.toLowerCase()] ? <abbr title={known[word.toLowerCase()]}>{word}</abbr> : word))}</>;
}
