/** The app's top line: model, one or two sentences, read, theme, link, export. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Menu } from "../../instrument/menu";
import type { AppHeader as AppReadingHeader, ExportFormat } from "../../protocol/app";
import { copyText } from "../../render/dom";
import { useSignals } from "../../state/signal";
import { AtlasButton } from "./atlas";
import { Against } from "./against";
import { Boxes } from "./boxes";
import { WriteButton } from "./writing";
import { engine } from "./server/api";
import { later } from "./later";
import type { Session } from "./session";

const Pictures = later(async () => (await import("./later/picture")).Pictures);
const formats: [ExportFormat, string][] = [
  ["svg", "SVG figure"],
  ["pdf", "PDF figure"],
  ["png", "PNG figure"],
  ["html", "HTML page, complete in itself"],
  ["csv", "numbers on screen (CSV)"],
  ["safetensors", "the reading (safetensors)"],
];

export function AppHeader({ session, fold }: { session: Session; fold: () => void }): JSX.Element {
  const { models } = session;
  const read = () => void session.readTyped();
  const nothing = !session.text.trim() && !session.senses;
  return (
    <header class="app-head">
      <h1 class="brand">headscope</h1>
      <button class="icon fold" data-control="fold" aria-label="Heads" title="Heads and this head" onClick={fold}>▦</button>
      <label class="field">
        <span class="sr">Model</span>
        <select data-control="model" value={session.model} onChange={(event) => void session.choose(event.currentTarget.value)}>
          {models && !session.entry && <option value={session.model}>{session.model}</option>}
          {models?.models.map((model) => <option value={model.id} key={model.id}>{model.title}</option>)}
        </select>
      </label>
      <Boxes session={session} onRead={read} />
      <button class={session.changed ? "button primary" : "button"} data-control="read" disabled={session.phase === "loading" || session.tooMany > 0 || nothing} onClick={read}>read</button>
      <WriteButton session={session} />
      {!engine && <Against session={session} />}
      <Examples session={session} />
      <button class="icon" data-control="tour" aria-expanded={session.tourOpen} title="A tour of saved states: start it, save your own, share them" onClick={() => (session.tourOpen = !session.tourOpen)}>tour</button>
      {!engine && <AtlasButton session={session} />}
      <span class="spring" />
      <Theme session={session} />
      <CopyLink session={session} />
      {!session.inAtlas && <Export session={session} />}
    </header>
  );
}

export function Examples({ session }: { session: Session }): JSX.Element | null {
  if (session.senses) return <MediaExamples session={session} />;
  const examples = session.examples();
  if (!examples.length) return null;
  return (
    <Menu name="examples" title="Texts to start from" label="examples">
      {examples.map((example, i) => (
        <button key={i} data-example={i} onClick={() => void session.useExample(example)}>
          <b>{example.title}</b>
          <small>{[example.text, example.text_pair].filter(Boolean).join(" · ")}</small>
        </button>
      ))}
    </Menu>
  );
}

function MediaExamples({ session }: { session: Session }): JSX.Element | null {
  const fitting = (session.models?.media_examples ?? []).filter((each) => each.kind === session.senses);
  if (!fitting.length) return null;
  return (
    <Menu name="examples" title="Examples to start with" label="examples">
      {fitting.map(({ name, title }) => (
        <button key={name} data-media={name} onClick={() => void session.useMedia({ media: "example", name })}>
          <b>{title}</b>
        </button>
      ))}
    </Menu>
  );
}

function Export({ session }: { session: Session }): JSX.Element {
  const { reading } = session;
  const { layer = 0, head = 0 } = session.following.shown.value;
  const compared = reading?.other ? `&other=${encodeURIComponent((reading.other.source.header as AppReadingHeader).id)}&other_head=${session.partner(layer, head).join("-")}` : "";
  // Keys change the picture while the menu is open, too.
  useSignals(session.following.shown);
  return (
    <Menu name="export" title="Save this picture or its numbers" label="export">
      {engine ? <Pictures session={session} /> : formats.map(([format, title]) => (
        <a
          key={format}
          data-format={format}
          aria-disabled={!reading}
          download
          href={reading ? `api/reading/${encodeURIComponent(reading.id)}/export?format=${format}${compared}&${session.shownQuery().toString()}` : undefined}
        >
          {title}
        </a>
      ))}
    </Menu>
  );
}

function CopyLink({ session }: { session: Session }): JSX.Element {
  const [copied, setCopied] = useState(false);
  return (
    <button
      class="icon"
      data-control="link"
      title="Copy a link that reopens this picture"
      onClick={() => {
        void copyText(new URL(session.address(), location.href).href).then(() => {
          setCopied(true);
          setTimeout(() => setCopied(false), 1600);
        });
      }}
    >
      {copied ? "copied" : "link"}
    </button>
  );
}

const nextTheme = { auto: "light", light: "dark", dark: "auto" } as const;
const themeSign = { auto: "◐", light: "☀", dark: "☾" } as const;

function Theme({ session }: { session: Session }): JSX.Element {
  return (
    <button
      class="icon"
      data-control="theme"
      data-theme={session.theme}
      title={`Theme: ${session.theme === "auto" ? "as the system" : session.theme}`}
      aria-label={`Theme: ${session.theme}. Change`}
      onClick={() => (session.theme = nextTheme[session.theme])}
    >
      {themeSign[session.theme]}
    </button>
  );
}
