/** What views of many heads keep in the state beside what all views share. */
import type { HeadTable, State } from "../../../protocol/types";

export interface PlaneState extends State {
  /** Names of columns; an empty size: all points alike. */
  x: string;
  y: string;
  colour: string;
  size: string;
  /** Heads that are chosen, as layer × heads per layer + head. */
  chosen: number[];
}

export const ofPlane = (state: State) => state as PlaneState;
export const planeKeeps = { x: "", y: "", colour: "", size: "", chosen: [] as number[] };

/** A head's number among those chosen, from its place in the table's columns, and back. */
export const numberOf = (table: HeadTable, at: number) => table.layers[Math.floor(at / table.heads)] * table.heads + (at % table.heads);
export const placeOf = (table: HeadTable, layer: number, head: number) => table.layers.indexOf(layer) * table.heads + head;
export const headOf = (table: HeadTable, at: number): [number, number] => [table.layers[Math.floor(at / table.heads)], at % table.heads];
