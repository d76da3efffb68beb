/** Why a head does what it does: a small chart, the sentence under it, the numbers behind a click. */
import type { JSX } from "preact";
import type { Instrument } from "../../instrument/instrument";
import type { HeadFacts } from "../../protocol/app";
import { valueText } from "../../render/dom";
import type { Session } from "./session";
import { Terms } from "./terms";

export function Why({ facts, instrument, session }: { facts: HeadFacts | null; instrument: Instrument; session: Session }): JSX.Element {
  if (!facts) return <p class="quiet">…</p>;
  if (!facts.why) return <p class="quiet"><Terms session={session}>{facts.why_not ?? "This text shows no pattern that neurons could explain."}</Terms></p>;
  const { text, marked, neurons = [], sentence } = facts.why;
  return (
    <>
      {neurons.length > 0 && <Chart neurons={neurons} />}
      <p><Terms session={session}>{sentence ?? text}</Terms></p>
      <button class="button" data-control="show-neurons" onClick={() => instrument.set({ view: "neuron", marked, sort: "contribution" })}>
        show these neurons →
      </button>
      {sentence && (
        <details>
          <summary>numbers</summary>
          <p><Terms session={session}>{text}</Terms></p>
          <dl class="numbers">
            {neurons.map((each) => (
              <div key={each.name}>
                <dt>{each.name}</dt>
                <dd>{valueText(each.contribution)} · {(100 * each.share).toFixed(0)} %</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </>
  );
}

/** Each neuron's share of the difference, the largest first; a line shows their cumulative share. */
function Chart({ neurons }: { neurons: NonNullable<NonNullable<HeadFacts["why"]>["neurons"]> }): JSX.Element {
  const names = neurons.map((each) => each.name.replace(/^neurons? /, ""));
  const step = 236 / neurons.length;
  // Names wider than their bar take turns on two lines.
  const crowded = Math.max(...names.map((name) => name.length)) * 6.2 > step;
  const [width, height, foot] = [236, 74, crowded ? 26 : 14];
  const most = Math.max(...neurons.map((each) => Math.abs(each.share)), 0.01);
  const total = neurons.reduce((sum, each) => sum + each.share, 0);
  const label = `${neurons.length} neurons together carry ${(100 * total).toFixed(0)} % of what makes the head look there`;
  return (
    <svg class="why-chart" viewBox={`0 0 ${width} ${height + foot}`} role="img" aria-label={label}>
      {neurons.map((each, i) => {
        const tall = (Math.abs(each.share) / most) * (height - 14);
        return (
          <g key={each.name}>
            <title>{`${each.name}: ${(100 * each.share).toFixed(1)} %`}</title>
            <rect x={i * step + 1.5} y={height - tall} width={step - 3} height={Math.max(1, tall)} class={each.share < 0 ? "against" : ""} />
            {neurons.length <= 10 && <text x={(i + 0.5) * step} y={height - tall - 3} text-anchor="middle">{(100 * each.share).toFixed(0)}%</text>}
            <text x={(i + 0.5) * step} y={height + 11 + (crowded && i % 2 ? 12 : 0)} text-anchor="middle" class="quiet">{names[i]}</text>
          </g>
        );
      })}
    </svg>
  );
}
