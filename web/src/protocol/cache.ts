/** Promises by key, the least recently used forgotten once their bytes pass the limit. */
export class Cache<Value> {
  private readonly entries = new Map<string, { promise: Promise<Value>; value: Value | null; bytes: number }>();
  private total = 0;

  constructor(
    private readonly limit: number,
    private readonly size: (value: Value) => number,
  ) {}

  get(key: string, make: () => Promise<Value>): Promise<Value> {
    const found = this.touch(key);
    if (found) return found.promise;
    const entry: { promise: Promise<Value>; value: Value | null; bytes: number } = {
      promise: Promise.resolve().then(make),
      value: null,
      bytes: 0,
    };
    this.entries.set(key, entry);
    entry.promise.then(
      (value) => {
        entry.value = value;
        entry.bytes = this.size(value);
        this.total += entry.bytes;
        this.forget(key);
      },
      // A failure is not cached: the next request tries again.
      () => this.entries.delete(key),
    );
    return entry.promise;
  }

  /** The value if it is already here. */
  peek(key: string): Value | null {
    return this.touch(key)?.value ?? null;
  }

  private touch(key: string) {
    const found = this.entries.get(key);
    if (found) {
      this.entries.delete(key);
      this.entries.set(key, found);
    }
    return found;
  }

  private forget(newest: string): void {
    for (const [key, entry] of this.entries) {
      if (this.total <= this.limit) return;
      if (key === newest || !entry.value) continue;
      this.total -= entry.bytes;
      this.entries.delete(key);
    }
  }
}
