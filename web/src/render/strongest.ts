/** The lines worth drawing: the strongest that carry the mass, chosen without sorting a million numbers. */
export interface Lines {
  /** Entry i: head, query unit, key unit, weight; strongest last, so that it is painted on top. */
  head: Uint16Array;
  query: Uint32Array;
  key: Uint32Array;
  weight: Float32Array;
  count: number;
  /** Lines that exist (above the minimum or not) and the share of their mass that is drawn. */
  possible: number;
  mass: number;
}

export interface HeadMatrix {
  head: number;
  /** rows × columns. */
  matrix: Float32Array;
}

const buckets = 4096;

/** Weights span decades, so buckets are even on a square-root scale. */
const bucketOf = (weight: number) => Math.min(buckets - 1, (Math.sqrt(weight) * buckets) | 0);

export function strongest(
  maps: HeadMatrix[],
  columns: number,
  limit: number,
  minimum: number,
  allowed: ((query: number, key: number) => boolean) | null,
): Lines {
  const counts = new Uint32Array(buckets);
  let possible = 0;
  let total = 0;
  for (const { matrix } of maps) {
    for (let i = 0; i < matrix.length; i++) {
      if (allowed && !allowed((i / columns) | 0, i % columns)) continue;
      possible++;
      const weight = matrix[i];
      if (weight <= 0) continue;
      total += weight;
      if (weight >= minimum) counts[bucketOf(weight)]++;
    }
  }
  let from = buckets;
  let kept = 0;
  while (from > 0 && kept + counts[from - 1] <= limit) kept += counts[--from];
  // The bucket that no longer fits whole is thinned evenly: equal weights must not favour the first rows.
  const partial = from - 1;
  const stride = partial >= 0 && limit > kept ? Math.ceil(counts[partial] / (limit - kept)) : Infinity;

  const found: { head: number; at: number; weight: number }[] = [];
  const lowest = partial < 0 ? 0 : (partial / buckets) ** 2 * 0.999;
  let seen = 0;
  for (const { head, matrix } of maps) {
    for (let i = 0; i < matrix.length; i++) {
      const weight = matrix[i];
      if (weight <= 0 || weight < minimum || weight < lowest) continue;
      const bucket = bucketOf(weight);
      if (bucket < partial) continue;
      if (allowed && !allowed((i / columns) | 0, i % columns)) continue;
      if (bucket === partial && seen++ % stride !== 0) continue;
      found.push({ head, at: i, weight });
    }
  }
  found.sort((a, b) => a.weight - b.weight);
  return pack(found, columns, possible, total);
}

/** Every line of one token: a query's whole row or a key's whole column. */
export function ofToken(
  maps: HeadMatrix[],
  columns: number,
  side: "query" | "key",
  unit: number,
  minimum: number,
  allowed: ((query: number, key: number) => boolean) | null,
): Lines {
  const found: { head: number; at: number; weight: number }[] = [];
  let possible = 0;
  let total = 0;
  for (const { head, matrix } of maps) {
    const rows = columns ? matrix.length / columns : 0;
    const length = side === "query" ? columns : rows;
    for (let j = 0; j < length; j++) {
      const at = side === "query" ? unit * columns + j : j * columns + unit;
      if (allowed && !allowed((at / columns) | 0, at % columns)) continue;
      possible++;
      total += matrix[at];
      if (matrix[at] > 0 && matrix[at] >= minimum) found.push({ head, at, weight: matrix[at] });
    }
  }
  found.sort((a, b) => a.weight - b.weight);
  return pack(found, columns, possible, total);
}

function pack(found: { head: number; at: number; weight: number }[], columns: number, possible: number, total: number): Lines {
  const drawn = found.reduce((sum, each) => sum + each.weight, 0);
  return {
    head: Uint16Array.from(found, (each) => each.head),
    query: Uint32Array.from(found, (each) => Math.floor(each.at / columns)),
    key: Uint32Array.from(found, (each) => each.at % columns),
    weight: Float32Array.from(found, (each) => each.weight),
    count: found.length,
    possible,
    mass: total > 0 ? drawn / total : 0,
  };
}
