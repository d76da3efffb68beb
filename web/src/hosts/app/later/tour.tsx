/** The list of saved states: show them, put them in order, save the one on screen, share them. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Step } from "../../../state/tour";
import { copyText, engine, keepTour, linkOf, sentenceOf, tourOf, tourText } from "../parts";
import type { Session } from "../session";
import { titleOf } from "./title";

export function TourPanel({ session }: { session: Session }): JSX.Element {
  const [title, setTitle] = useState("");
  const [text, setText] = useState("");
  const [said, setSaid] = useState("");
  const { tour, step, mounted } = session;
  const shown = mounted ? titleOf(mounted) : session.titleOf(session.model);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopPropagation(); // what is pinned stays
      session.tourOpen = false;
    };
    addEventListener("keydown", press, true);
    return () => removeEventListener("keydown", press, true);
  }, []);
  const change = (next: Step[]) => {
    session.tour = next;
    keepTour(next);
    setSaid("");
  };
  const move = (at: number, by: number) => {
    const next = [...tour];
    next.splice(at + by, 0, ...next.splice(at, 1));
    change(next);
  };
  const save = () => {
    change([...tour, { title: title.trim() || shown, text: text.trim(), address: session.savedAddress() }]);
    setTitle("");
    setText("");
  };
  const open = (file: File | undefined) => void file?.text().then(tourOf).then(change).catch((error: unknown) => setSaid(`${file.name}: ${sentenceOf(error)}`));
  const download = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([tourText(tour)], { type: "application/json" }));
    link.download = "tour.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const copy = async () => {
    const address = new URL(engine ? location.pathname : "/", location.href);
    address.hash = await linkOf(tour);
    await copyText(address.href);
    setSaid("Link copied; it opens these states.");
  };
  return (
    <aside class="tour-panel" aria-label="Tour" data-tour>
      <h2>Tour <button class="icon" aria-label="Close the list" onClick={() => (session.tourOpen = false)}>×</button></h2>
      {tour.length > 0 && <button class="button primary" data-control="tour-show" title="Page Down, Page Up: next, previous" onClick={() => void session.openStep(0)}>start the tour</button>}
      <ol>
        {tour.map((each, at) => (
          <li key={`${at} ${each.address}`} aria-current={step === at ? "step" : undefined}>
            <button class="plain" data-step={at} title={each.text} onClick={() => void session.openStep(at)}>{each.title}</button>
            <button class="step" data-up={at} aria-label={`Move ${each.title} up`} disabled={at === 0} onClick={() => move(at, -1)}>↑</button>
            <button class="step" data-down={at} aria-label={`Move ${each.title} down`} disabled={at === tour.length - 1} onClick={() => move(at, 1)}>↓</button>
            <button class="step" data-remove={at} aria-label={`Remove ${each.title}`} onClick={() => change(tour.filter((_, other) => other !== at))}>×</button>
          </li>
        ))}
      </ol>
      <h2>Add a step</h2>
      <input type="text" data-control="tour-title" aria-label="Title" placeholder={shown} maxLength={40} value={title} onInput={(event) => setTitle(event.currentTarget.value)} onKeyDown={(event) => event.stopPropagation()} />
      <textarea data-control="tour-text" aria-label="Caption" placeholder="A caption for your viewers" rows={2} value={text} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={(event) => event.stopPropagation()} />
      <p class="tour-acts">
        <button class="button" data-control="tour-save" disabled={session.phase !== "ready"} onClick={save}>save this state</button>
        <button class="plain" data-control="tour-download" disabled={!tour.length} onClick={download}>download</button>
        <button class="plain" data-control="tour-link" disabled={!tour.length} onClick={() => void copy()}>copy link</button>
        <label class="plain">open…<input type="file" data-control="tour-file" accept=".json,application/json" onChange={(event) => open(event.currentTarget.files?.[0])} /></label>
      </p>
      {said && <p class="quiet" role="status">{said}</p>}
    </aside>
  );
}
