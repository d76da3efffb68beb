/** The head view: tokens on two sides, lines whose opacity is the weight. */
import { headsOn } from "../../state/state";
import { groupsOf, sumsBySpan, sumsFrom } from "../../protocol/spans";
import type { Group } from "../../protocol/spans";
import type { State } from "../../protocol/types";
import { isRightToLeft, passes, project, unitOf, unitsOf } from "../../protocol/units";
import type { Unit } from "../../protocol/units";
import { Crops } from "../../render/crops";
import { make, number, visible } from "../../render/dom";
import { drawGhosts, drawLines, lineAt } from "../../render/lines";
import { sequential, surfaces } from "../../render/scales";
import { StrongList, listRoom, topOf } from "../../render/strong_list";
import { ofToken, strongest } from "../../render/strongest";
import type { HeadMatrix, Lines } from "../../render/strongest";
import type { Context, View } from "../view";
import { line, rows } from "./geometry";
import type { Geometry, Spans } from "./geometry";
import { inHand, otherSide, pairContent, tokenContent, weightAt } from "./hand";
import type { Hand, Looked } from "./hand";
import { Overview, overviewRoom } from "./overview";
import { Sides } from "./sides";
import type { Side } from "./tokens";

/** Enough to carry the mass of most heads, few enough to be drawn within a frame. */
const lineLimit = 2500;

/** Lines of heads before they were switched off: only the strongest. */
const ghostLimit = 400;

export class HeadView implements View {
  readonly element = make("div", { class: "hv" });
  private readonly sides: Sides;
  private units: Record<Side, Unit[]> = { query: [], key: [] };
  private spans: Spans = { query: [], key: [] };
  private geometry: Geometry | null = null;
  private matrices: HeadMatrix[] = [];
  private base: Lines | null = null;
  private drawn: Lines | null = null;
  /** The earlier weights of heads that are off, and the picture they were requested for. */
  private ghosts: HeadMatrix[] = [];
  private ghostsFor = "";
  private hover: Looked | null = null;
  private placedFor = "";
  private basedOn = "";
  private layer = 0;
  /** A text longer than the window: it has an overview and a list of far partners. */
  private long = false;
  private readonly overview: Overview;
  private readonly far: StrongList;
  private readonly crops: Crops;

  constructor(private readonly context: Context) {
    this.crops = new Crops(context.reading, () => this.redraw());
    this.sides = new Sides({
      look: (looked, event) => this.look(looked, event),
      pin: (side, unit) => this.pin(side, unit),
      isolate: (side, unit) => context.store.set({ query: null, key: null, [side]: this.units[side][unit]?.start ?? null }),
      scrolled: () => {
        this.overview.follow(this.sides.scroller.scrollTop, this.sides.scroller.clientHeight);
        this.draw();
      },
      point: (x, y, event) => this.point(x, y, event),
    });
    this.overview = new Overview((y) => (this.sides.scroller.scrollTop = y - this.sides.scroller.clientHeight / 2));
    this.far = new StrongList((unit) => this.bring(unit), "Bring it beside the selected token");
    this.element.append(this.sides.headings, this.sides.scroller, this.overview.element, this.far.element);
  }

  update(state: State, before: State | null): void {
    this.place(state);
    const part = this.context.reading.part(state.kind);
    const heads = headsOn(state, part);
    const { reading } = this.context;
    const ready = heads.map((head) => reading.peek(state.kind, state.layer, head));
    const maps = ready.every((map) => map !== null) ? ready : Promise.all(heads.map((head) => reading.map(state.kind, state.layer, head)));
    const draw = (found: Float32Array[]) => this.arrive(state, before, heads, found);
    this.context.show(maps, draw, (sentence) => {
      // The lines of another head under this one's name would be worse than none.
      this.arrive(state, before, [], []);
      this.context.status(sentence);
    });
  }

  redraw(): void {
    const { state } = this.context.store;
    const side: Side = state.query === null ? "key" : "query";
    const held = unitOf(this.units[side], state[side]);
    const seen = held >= 0 && this.sides.away(side, held) === 0;
    this.placedFor = "";
    this.place(state);
    if (seen) this.sides.reveal(side, held);
    this.draw();
  }

  /** The selected pair, or the token's row (a key's column), with a line per token and a column per head. */
  copy(): string | null {
    const hand = this.hand();
    const { state } = this.context.store;
    if (!hand || !this.matrices.length) return null;
    const place = `${state.kind}, layer ${state.layer}`;
    if (hand.partner >= 0) {
      const content = pairContent(this.scene(), ...this.pair(hand));
      return [`${content.title} (${place})`, ...(content.rows ?? []).map((row) => `${row.text}\t${row.value}`)].join("\n");
    }
    const scene = this.scene();
    const here = this.units[hand.side][hand.unit];
    const heads = this.matrices.map(({ head }) => `head ${head}`);
    const lines = this.units[otherSide(hand.side)].map((unit, j) => {
      const [query, key] = hand.side === "query" ? [hand.unit, j] : [j, hand.unit];
      return [unit.text, ...this.matrices.map(({ matrix }) => weightAt(scene, matrix, query, key).toFixed(4))].join("\t");
    });
    return [`${here.text} ${hand.side === "query" ? "attends to" : "is attended to by"} (${place})\t${heads.join("\t")}`, ...lines].join("\n");
  }

  picture(): Record<string, unknown> | null {
    const { drawn } = this;
    if (!drawn) return null;
    const { state } = this.context.store;
    const { query, key } = this.units;
    const [pinnedQuery, pinnedKey] = [unitOf(query, state.query), unitOf(key, state.key)];
    const last = Array.from({ length: Math.min(8, drawn.count) }, (_, i) => drawn.count - 1 - i);
    return {
      kind: state.kind,
      layer: state.layer,
      heads: this.matrices.map(({ head }) => head),
      query: pinnedQuery < 0 ? null : query[pinnedQuery].start,
      key: pinnedKey < 0 ? null : key[pinnedKey].start,
      filter: state.filter,
      scale: state.scale,
      lines: drawn.count,
      possible: drawn.possible,
      mass: drawn.mass,
      strongest: last.map((i) => [drawn.head[i], query[drawn.query[i]].start, key[drawn.key[i]].start, drawn.weight[i]]),
    };
  }

  step(by: number): void {
    const { state } = this.context.store;
    const side: Side = state.query === null && state.key !== null ? "key" : "query";
    const units = this.units[side];
    const now = unitOf(units, state[side]);
    const next = now < 0 ? (by > 0 ? 0 : units.length - 1) : (now + by + units.length) % units.length;
    if (units[next]) this.context.store.set({ [side]: units[next].start });
  }

  destroy(): void {
    this.sides.destroy();
  }

  private place(state: State): void {
    const width = this.element.clientWidth || 900;
    const height = this.context.height();
    const { query, key } = this.context.reading.tokens(state.kind);
    const cut = state.orientation === "vertical" ? this.crops.of(state.kind) : null;
    const key_ = [state.kind, state.unit, state.specials, state.first, state.orientation, state.direction, width, height, cut !== null].join("|");
    if (key_ === this.placedFor) return;
    this.placedFor = key_;
    this.units = { query: unitsOf(query, state.unit, state.specials), key: unitsOf(key, state.unit, state.specials, state.first) };
    const part = this.context.reading.part(state.kind);
    this.spans = { query: groupsOf(this.units.query, part), key: groupsOf(this.units.key, part) };
    const mirrored = state.direction === "rtl" || (state.direction === "auto" && isRightToLeft(query));
    const room = (less: number) =>
      state.orientation === "vertical"
        ? rows(this.units.query, this.units.key, this.spans, width - 14 - less, height - 46, mirrored, cut !== null)
        : line(this.units.query, this.units.key, this.spans, width - 14, height, mirrored);
    this.geometry = room(0);
    this.long = this.geometry.vertical && this.geometry.length > height - 34;
    if (this.long) this.geometry = room(overviewRoom);
    this.element.classList.toggle("long", this.long);
    this.sides.place(this.units, this.spans, this.geometry, Math.max(180, height - 34 - (this.long ? listRoom : 0)), cut);
    this.basedOn = "";
  }

  private arrive(state: State, before: State | null, heads: number[], maps: Float32Array[]): void {
    const s = this.context.reading.tokens(state.kind).key.text.length;
    const renormalise = state.specials === "renormalised";
    this.layer = state.layer;
    const lowest = Math.max(state.minimum, visibleFrom(state.scale));
    const key = [this.placedFor, this.context.reading.by, state.layer, heads.join("."), state.filter, lowest].join("|");
    if (key !== this.basedOn) {
      this.matrices = heads.map((head, i) => ({ head, matrix: project(maps[i], s, this.units.query, this.units.key, renormalise) }));
      this.base = strongest(this.matrices, this.units.key.length, lineLimit, lowest, this.allowed());
      this.basedOn = key;
    }
    if (!before || state.query !== before.query || state.key !== before.key) {
      if (this.sides.isApart) this.sides.standApart(0);
      this.sides.reveal("query", unitOf(this.units.query, state.query));
      this.sides.reveal("key", unitOf(this.units.key, state.key));
      if (before) this.speak();
    }
    this.draw();
  }

  private allowed(): ((query: number, key: number) => boolean) | null {
    const { filter } = this.context.store.state;
    if (filter === "all") return null;
    return (query, key) => passes(filter, this.units.query[query], this.units.key[key]);
  }

  private scene() {
    const heads = this.context.reading.part(this.context.store.state.kind).heads;
    return { units: this.units, matrices: this.matrices, colours: this.context.colours(heads), layer: this.layer };
  }

  private hand(): Hand | null {
    const { state } = this.context.store;
    return inHand(this.hover, { query: unitOf(this.units.query, state.query), key: unitOf(this.units.key, state.key) });
  }

  private pair(hand: Hand): [number, number] {
    return hand.side === "query" ? [hand.unit, hand.partner] : [hand.partner, hand.unit];
  }

  private draw(): void {
    const { geometry, base } = this;
    if (!geometry || !base) return;
    const { state } = this.context.store;
    const scene = this.scene();
    const hand = this.hand();
    const columns = this.units.key.length;
    if (hand) {
      const filter = this.allowed();
      const lowest = Math.max(state.minimum, visibleFrom(state.scale));
      const [query, key] = hand.only ? this.pair(hand) : [-1, -1];
      const allowed = hand.only ? (i: number, j: number) => i === query && j === key : filter;
      this.drawn = ofToken(this.matrices, columns, hand.side, hand.unit, lowest, allowed);
    } else this.drawn = base;
    const place = this.sides.linePlace(geometry);
    const leaving = drawLines(this.sides.canvas, this.drawn, place, scene.colours, surfaces[this.context.shade()], state.scale, !hand);
    if (this.summon().length) {
      const least = Math.max(state.minimum, 0.05);
      const lines = hand ? ofToken(this.ghosts, columns, hand.side, hand.unit, least, this.allowed()) : strongest(this.ghosts, columns, ghostLimit, least, this.allowed());
      drawGhosts(this.sides.canvas, lines, place, scene.colours, state.scale);
    }
    this.sides.mark(hand, { query: unitOf(this.units.query, state.query), key: unitOf(this.units.key, state.key) }, (side) =>
      hand && side === otherSide(hand.side)
        ? {
            heads: this.matrices.map((each) => each.head),
            colours: scene.colours,
            weight: (at, unit) => {
              const [query, key] = hand.side === "query" ? [hand.unit, unit] : [unit, hand.unit];
              return passes(state.filter, this.units.query[query], this.units.key[key]) ? weightAt(scene, this.matrices[at].matrix, query, key) : NaN;
            },
          }
        : null,
    );
    this.sides.sum(this.sums(hand));
    this.report(this.drawn, hand, leaving > 0 && !hand);
    if (this.long) this.showWhole(hand);
  }

  private answer(): Group[] {
    const { answer } = this.context.reading.part(this.context.store.state.kind);
    return this.spans.query.filter(({ name }) => name === answer);
  }

  /** What each span gets from the selected query or from the answer, averaged over the heads that are on. */
  private sums(hand: Hand | null): Map<string, number> | null {
    if (!this.spans.key.length || !this.matrices.length) return null;
    const query = hand?.side === "query" ? hand.unit : -1;
    const rows = this.answer();
    const total = new Map<string, number>();
    for (const { matrix } of this.matrices) {
      for (const [name, sum] of sumsBySpan(matrix, this.units.key.length, this.spans.key, query, rows)) {
        total.set(name, (total.get(name) ?? 0) + sum / this.matrices.length);
      }
    }
    return total;
  }

  /** Requests them once per picture, and draws again when they arrive. */
  private summon(): HeadMatrix[] {
    const { kind, layer, specials } = this.context.store.state;
    const mine = [this.placedFor, layer, ...this.matrices.map(({ head }) => head)].join("|");
    if (this.ghostsFor === mine) return this.ghosts;
    this.ghosts = [];
    const s = this.context.reading.tokens(kind).key.text.length;
    const found = this.matrices.flatMap(({ head }) => {
      const map = this.context.was(kind, layer, head);
      return map ? [map.then((weights) => ({ head, matrix: project(weights, s, this.units.query, this.units.key, specials === "renormalised") }))] : [];
    });
    this.ghostsFor = found.length ? mine : "";
    if (!found.length) return [];
    const end = this.context.painting.begin();
    const arrive = (maps: HeadMatrix[]) => {
      if (this.ghostsFor !== mine) return;
      this.ghosts = maps;
      this.draw();
    };
    void Promise.all(found).then(arrive, () => undefined).finally(end);
    return [];
  }

  /** The sum over heads for each token: of the selected token, or of the drawn lines. */
  private shares(hand: Hand | null): [Float32Array, Float32Array] {
    const found: Record<Side, Float32Array> = { query: new Float32Array(this.units.query.length), key: new Float32Array(this.units.key.length) };
    const lines = hand ? this.drawn! : this.base!;
    for (let i = 0; i < lines.count; i++) {
      found.query[lines.query[i]] = Math.max(found.query[lines.query[i]], lines.weight[i]);
      found.key[lines.key[i]] = Math.max(found.key[lines.key[i]], lines.weight[i]);
    }
    if (hand) found[hand.side].fill(0)[hand.unit] = 1;
    return [found.query, found.key];
  }

  private showWhole(hand: Hand | null): void {
    const { scroller } = this.sides;
    const shares = this.shares(hand);
    const root = this.context.store.state.scale === "sqrt" ? shares.map((side) => side.map(Math.sqrt)) : shares;
    this.overview.draw([root[0], root[1]], this.geometry!, sequential(this.context.shade()), scroller.clientHeight);
    this.overview.follow(scroller.scrollTop, scroller.clientHeight);
    if (!hand) return this.far.show([], false);
    const side = otherSide(hand.side);
    const units = this.units[side];
    const words = (from: number, to: number) => units.slice(Math.max(0, from), to).map((unit) => visible(unit.text)).join(" ");
    const strong = topOf(shares[side === "query" ? 0 : 1], 8).map((at) => ({
      at,
      weight: shares[side === "query" ? 0 : 1][at],
      before: words(at - 4, at),
      word: visible(units[at].text),
      after: ` ${words(at + 1, at + 5)}`,
      away: this.sides.away(side, at),
    }));
    this.far.show(strong, this.geometry!.mirrored, "row");
  }

  /** Moves a far partner beside the selected token; the columns stay shifted until Esc or another token. */
  private bring(unit: number): void {
    const hand = this.hand();
    if (!hand || !this.geometry) return;
    const { query, key } = this.geometry;
    const [of, to] = hand.side === "query" ? [hand.unit, unit] : [unit, hand.unit];
    this.sides.standApart(query[of] - key[to]);
    this.sides.reveal(hand.side, hand.unit);
    this.draw();
  }

  private report(lines: Lines, hand: Hand | null, leaving: boolean): void {
    const { state } = this.context.store;
    const legend = {
      kind: "lines" as const,
      title: state.scale === "sqrt" ? "opacity and width: √weight" : "opacity and width: weight",
      low: "0.1",
      high: "1",
    };
    if (this.matrices.length === 0) return this.context.status("No head is on: click one to see its lines.", legend);
    const share = lines.mass >= 0.9995 ? "100" : (100 * lines.mass).toFixed(lines.mass > 0.99 ? 1 : 0);
    const whole = lines.count === lines.possible;
    const count = whole ? `showing all ${number(lines.count)} lines` : `showing ${number(lines.count)} of ${number(lines.possible)} lines, ${share} % of the mass`;
    const filter = state.filter === "all" ? "" : ` (${state.filter[0].toUpperCase()}→${state.filter[1].toUpperCase()})`;
    const sums = this.spans.key.length ? sumsFrom(hand?.side === "query" ? hand.unit : -1, this.answer()) : "";
    this.context.status(`${count}${filter}${hand ? " of the selected token" : ""}${leaving ? "; pale ones end out of sight" : ""}${this.ghosts.length ? "; dashed: with every head on" : ""}${sums}`, legend);
  }

  private look(looked: Looked | null, event: MouseEvent | null): void {
    const same = this.hover?.side === looked?.side && this.hover?.unit === looked?.unit;
    this.hover = looked;
    if (!same) {
      const end = this.context.painting.begin();
      this.draw();
      end();
    }
    if (!looked || !this.matrices.length) return this.context.tooltip.hide();
    const hand = this.hand()!;
    const content = hand.partner >= 0 ? pairContent(this.scene(), ...this.pair(hand)) : tokenContent(this.scene(), looked.side, looked.unit);
    const at = this.sides.beside(looked.side, looked.unit);
    this.context.tooltip.show(content, at.x, at.y, at.side);
    if (!event) this.speak();
  }

  private pin(side: Side, unit: number): void {
    const token = this.units[side][unit]?.start ?? null;
    const { state } = this.context.store;
    const pinned = unitOf(this.units[side], state[side]) === unit;
    this.context.store.set({ [side]: pinned ? null : token });
  }

  private point(x: number, y: number, event: MouseEvent): void {
    if (!this.drawn || !this.geometry) return;
    const found = lineAt(this.drawn, this.sides.linePlace(this.geometry), x, y);
    if (found < 0) return this.context.tooltip.hide();
    const [query, key] = [this.drawn.query[found], this.drawn.key[found]];
    this.context.tooltip.show(pairContent(this.scene(), query, key), event.clientX, event.clientY);
  }

  private speak(): void {
    const hand = this.hand();
    if (!hand || !this.matrices.length) return;
    const content = hand.partner >= 0 ? pairContent(this.scene(), ...this.pair(hand)) : tokenContent(this.scene(), hand.side, hand.unit);
    this.context.announce([content.title, ...(content.rows ?? []).slice(0, 3).map((row) => `${row.text} ${row.value}`)].join(", "));
  }
}

/** Fainter than this no eye sees a line, so it is not counted as shown. */
function visibleFrom(scale: State["scale"]): number {
  return scale === "sqrt" ? 0.0006 : 0.005;
}
