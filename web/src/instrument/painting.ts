/** Longer work is visible as busy. */
const patience = 90;

/** Tells when a requested picture is on screen: drawn, two animation frames ago. */
export class Painting {
  private pending = 0;
  /** Pictures whose marks are still to be drawn. */
  private drawing = 0;
  private slow: ReturnType<typeof setTimeout> | undefined;
  private waiters: (() => void)[] = [];
  paints = 0;
  readonly ready: Promise<void>;
  private first!: () => void;

  /** `busy` shows, or takes away, the sign that work is going on. */
  constructor(private readonly busy: (on: boolean) => void = () => undefined) {
    this.ready = new Promise((resolve) => (this.first = resolve));
  }

  /** Work on a picture has begun; call the answer when its marks are drawn (or it became stale). */
  begin(): () => void {
    this.pending++;
    if (this.drawing++ === 0) this.slow = setTimeout(() => this.busy(true), patience);
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      if (--this.drawing === 0) {
        clearTimeout(this.slow);
        this.busy(false);
      }
      void twoFrames().then(() => {
        this.pending--;
        this.paints++;
        this.first();
        if (this.pending === 0) for (const waiter of this.waiters.splice(0)) waiter();
      });
    };
  }

  painted(): Promise<void> {
    return this.pending === 0 ? Promise.resolve() : new Promise((resolve) => this.waiters.push(resolve));
  }
}

function twoFrames(): Promise<void> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => requestAnimationFrame(() => resolve()));
    // A hidden tab draws no frames, so waiting needs a time limit.
    setTimeout(resolve, 1000);
  });
}
