import { describe, expect, it } from "vitest";
import { noMask, scoreRow } from "../src/protocol/softmax";
import { byContribution, contributions, cumulativeShare, groupSums, groupsOf } from "../src/views/neuron/contribution";
import { layOut } from "../src/views/neuron/motion";

describe("contributions", () => {
  const inputs = {
    q: Float32Array.of(1, 2, 0, -1),
    k: Float32Array.of(0, 3, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0),
    dim: 4,
    t: 1,
    s: 3,
    scaling: 1,
    softcap: null,
    sink: null,
    mask: noMask(3),
    bias: null,
  };
  it("sum to the attended score above the average score", () => {
    const row = scoreRow(inputs, 0);
    const values = contributions(inputs, 0, row.weight, row.visible);
    const attended = row.dot.reduce((sum, score, j) => sum + score * row.weight[j], 0);
    const average = row.dot.reduce((sum, score) => sum + score, 0) / 3;
    expect(values.reduce((sum, value) => sum + value, 0)).toBeCloseTo(attended - average, 6);
  });
  it("name the neuron that makes the difference", () => {
    const row = scoreRow(inputs, 0);
    const sums = groupSums(groupsOf(4, null), contributions(inputs, 0, row.weight, row.visible));
    expect(byContribution(sums)[0]).toBe(1);
    expect(cumulativeShare(sums, byContribution(sums))[0]).toBeCloseTo(1, 6);
  });
});

describe("rotary pairs", () => {
  it("join halves or neighbours, and leave the rest alone", () => {
    expect(groupsOf(6, { pairing: "halves", dim: 4, start: 0 })).toEqual([[0, 2], [1, 3], [4], [5]]);
    expect(groupsOf(4, { pairing: "neighbours", dim: null, start: 0 })).toEqual([[0, 1], [2, 3]]);
    expect(groupsOf(6, { pairing: "halves", dim: 4, start: 2 })).toEqual([[2, 4], [3, 5], [0], [1]]);
  });
  it("stand side by side and move together", () => {
    const { x } = layOut([[0, 2], [1, 3]], [1, 0], 6, 1, 2);
    expect([...x]).toEqual([14, 0, 20, 6]);
  });
});
