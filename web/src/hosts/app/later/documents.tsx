/** Documents for a question: typed, pasted, or dropped as .txt, .md or .jsonl files. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { GivenDocument } from "../../../protocol/app";
import { number } from "../../../render/dom";
import type { Session } from "../session";

const most = 200;

/** The documents in a file: the lines of a .jsonl, else its text; or an error sentence. */
export function documentsIn(name: string, text: string): GivenDocument[] | string {
  if (/\.(txt|md)$/i.test(name)) return text.trim() ? [{ title: name, text }] : `${name} is empty.`;
  if (!/\.jsonl$/i.test(name)) return `${name || "This"} is not a .txt, .md or .jsonl file.`;
  const found: GivenDocument[] = [];
  for (const [at, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    const one = read(line);
    if (!one) return `Line ${at + 1} of ${name} is not a document: write {"title": …, "text": …} on each line.`;
    found.push({ title: one.title || `${name} ${at + 1}`, text: one.text });
  }
  return found.length ? found : `${name} is empty.`;
}

function read(line: string): GivenDocument | null {
  try {
    const found = JSON.parse(line) as unknown;
    const { title, text, content } = (typeof found === "string" ? { text: found } : found) as Record<string, unknown>;
    const body = text ?? content;
    return typeof body === "string" && body.trim() ? { title: typeof title === "string" ? title : "", text: body } : null;
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
  const put = (at: number, text: string) => change(documents.map((one, n) => (n === at ? { ...one, text } : one)));
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
      <summary>{documents.length ? `${number(documents.length)} documents` : "Documents"}</summary>
      {documents.map((one, at) => (
        <p key={at}>
          <textarea rows={2} aria-label={one.title || `Document ${at + 1}`} placeholder={one.title || `Document ${at + 1}`} value={one.text} onInput={(event) => put(at, event.currentTarget.value)} onKeyDown={(event) => event.stopPropagation()} />
          <button title="Leave this document out" onClick={() => change(documents.filter((_, n) => n !== at))}>×</button>
        </p>
      ))}
      <button data-control="add-document" onClick={() => change([...documents, { title: "", text: "" }])}>Add a document</button>
      <input type="file" multiple accept=".txt,.md,.jsonl" aria-label="Files with documents" onChange={(event) => void take(event.currentTarget.files)} />
      {wrong && <span class="warn" role="alert">{wrong}</span>}
    </details>
  );
}
