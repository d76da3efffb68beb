/** A field for dropping, pasting or choosing a picture or a sound; the server decodes it. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { MediaRequest } from "../../../protocol/app";
import image from "../../../more/media/image";
import sound from "../../../more/media/sound";
import { takeIn } from "../parts";
import type { Session } from "../session";

(globalThis.headscopeViews ??= []).push(image, sound);
takeIn();

const most = 12_000_000;

/** The request for a file, or a sentence about why it is not sent. */
export async function requestFor(file: File, kind: "image" | "audio"): Promise<MediaRequest | string> {
  const what = kind === "image" ? "a picture" : "a sound";
  if (!file.type.startsWith(`${kind}/`)) return `${file.name || "This"} is not ${what}.`;
  if (file.size > most) return `${file.name} has ${Math.round(file.size / 1e6)} MB; at most 12 are taken.`;
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 32_768) text += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return { media: kind, name: file.name || "pasted", data: btoa(text) };
}

export function DropZone({ session }: { session: Session }): JSX.Element {
  const kind = session.senses!;
  const [over, setOver] = useState(false);
  const [wrong, setWrong] = useState("");
  const last = useRef<File | null>(null);
  const take = async (file: File | undefined | null) => {
    if (!file) return;
    last.current = file;
    const found = await requestFor(file, kind);
    // A large file takes longer than a small one that was given after it, or than to choose another model.
    if (last.current !== file || session.senses !== kind) return;
    setWrong(typeof found === "string" ? found : "");
    if (typeof found !== "string") await session.useMedia(found);
  };
  // At once, so that an early paste works too.
  useLayoutEffect(() => {
    const paste = (event: ClipboardEvent) => void take(event.clipboardData?.files[0]);
    document.addEventListener("paste", paste);
    return () => document.removeEventListener("paste", paste);
  }, [kind]);
  return (
    <div
      class={`drop${over ? " over" : ""}`}
      data-control="drop"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void take(event.dataTransfer?.files[0]);
      }}
    >
      <span>
        {session.media ? <b>{session.media.name}</b> : null} Drop or paste {kind === "image" ? "a picture" : "a sound"}, or choose
      </span>
      <input type="file" data-control="file" accept={`${kind}/*`} aria-label={kind === "image" ? "A picture" : "A sound"} onChange={(event) => void take(event.currentTarget.files?.[0])} />
      {wrong && <span class="warn" role="alert">{wrong}</span>}
    </div>
  );
}
