/** Documents for a question and messages before it: typed, pasted, or dropped as .txt, .md or .jsonl files. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { GivenDocument } from "../../../protocol/app";
import { number } from "../../../render/dom";
import type { Session } from "../session";

const most = 200;
const roles = ["system", "user", "assistant"] as const;

/** The documents or messages in a file: the lines of a .jsonl, else its text; or an error sentence. */
export function documentsIn(name: string, text: string): GivenDocument[] | string {
  if (/\.(txt|md)$/i.test(name)) return text.trim() ? [{ title: name, text }] : `${name} is empty.`;
  if (!/\.jsonl$/i.test(name)) return `${name || "This"} is not a .txt, .md or .jsonl file.`;
  const found: GivenDocument[] = [];
  for (const [at, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    const one = read(line);
    if (!one) return `Line ${at + 1} of ${name} is neither a document nor a message: write {"title": …, "text": …} or {"role": …, "content": …}.`;
    found.push(one.role ? one : { title: one.title || `${name} ${at + 1}`, text: one.text });
  }
  return found.length ? found : `${name} is empty.`;
}

function read(line: string): GivenDocument | null {
  try {
    const found = JSON.parse(line) as unknown;
    const { title, text, content, role } = (typeof found === "string" ? { text: found } : found) as Record<string, unknown>;
    const body = text ?? content;
    if (typeof body !== "string" || !body.trim()) return null;
    const said = roles.find((one) => one === role);
    if (role !== undefined) return said ? { role: said, text: body } : null;
    return { title: typeof title === "string" ? title : "", text: body };
  } catch {
    return null;
  }
}

export function Documents({ session }: { session: Session }): JSX.Element {
  const [over, setOver] = useState(false);
  const [wrong, setWrong] = useState("");
  const { documents } = session;
  const change = (next: GivenDocument[]) => {
    if (next.length > most) return setWrong(`The app takes at most ${most} documents.`);
    session.documents = next;
  };
  const take = async (files: FileList | null | undefined) => {
    const next = [...session.documents.filter(({ text }) => text.trim())];
    for (const file of files ?? []) {
      const found = documentsIn(file.name, await file.text());
      if (typeof found === "string") return setWrong(found);
      next.push(...found);
    }
    setWrong("");
    change(next);
  };
  const put = (at: number, next: Partial<GivenDocument>) => change(documents.map((one, n) => (n === at ? { ...one, ...next } : one)));
  const messages = documents.filter(({ role }) => role).length;
  const texts = documents.length - messages;
  const counts = [texts ? `${number(texts)} documents` : "", messages ? `${number(messages)} messages` : ""].filter(Boolean);
  const named = ({ role, title }: GivenDocument, at: number) => (role ? `Message ${at + 1}` : title || `Document ${at + 1}`);
  return (
    <details
      class={`documents drop${over ? " over" : ""}`}
      data-control="documents"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void take(event.dataTransfer?.files);
      }}
    >
      <summary title="Documents and messages that the model reads with the question">{counts.join(", ") || "documents"}</summary>
      {documents.map((one, at) => (
        <p key={at}>
          {one.role && (
            <select aria-label={`Role of message ${at + 1}`} value={one.role} onChange={(event) => put(at, { role: roles[event.currentTarget.selectedIndex] })}>
              {roles.map((role) => <option key={role}>{role}</option>)}
            </select>
          )}
          <textarea rows={2} aria-label={named(one, at)} placeholder={named(one, at)} value={one.text} onInput={(event) => put(at, { text: event.currentTarget.value })} onKeyDown={(event) => event.stopPropagation()} />
          <button title={`Leave this ${one.role ? "message" : "document"} out`} onClick={() => change(documents.filter((_, n) => n !== at))}>×</button>
        </p>
      ))}
      <button data-control="add-document" onClick={() => change([...documents, { title: "", text: "" }])}>Add a document</button>
      <button data-control="add-message" title="A message before the question, in the order of this list" onClick={() => change([...documents, { role: messages % 2 ? "assistant" : "user", text: "" }])}>Add a message</button>
      <input type="file" multiple accept=".txt,.md,.jsonl" aria-label="Files with documents or messages" onChange={(event) => void take(event.currentTarget.files)} />
      {wrong && <span class="warn" role="alert">{wrong}</span>}
    </details>
  );
}
