/** What views of many heads keep in the state beside what all views share. */
import type { HeadTable, State } from "../../../protocol/types";

/** One plane of all heads, the plane in which near heads attend alike, or a small plane for every layer. */
export type Panels = "heads" | "clusters" | "layers";

export interface PlaneState extends State {
  /** Names of columns; an empty size: all points equal. */
  x: string;
  y: string;
  colour: string;
  size: string;
  panels: Panels;
  /** Heads that are chosen, as layer × heads per layer + head. */
  chosen: number[];
}

export const planeKeeps = { x: "", y: "", colour: "", size: "", chosen: [] as number[] };
export const planeChoices = [{ name: "panels", title: "show", entries: [["heads", "all heads"], ["clusters", "clusters"], ["layers", "layer by layer"]] as [string, string][], when: () => false }];
export const clusterColumns = { x: "likeness_x", y: "likeness_y", colour: "group" };

/** The columns that the table can show; clusters have the coordinates of likeness. */
export function ofPlane(state: State, table: HeadTable | null): PlaneState {
  const asked = state as PlaneState;
  if (asked.panels !== "clusters") return asked;
  return hasClusters(table) ? { ...asked, ...clusterColumns } : { ...asked, panels: "heads" };
}

export const hasClusters = (table: HeadTable | null) => table?.columns.some((column) => column.name === clusterColumns.colour) ?? false;

/** A head's number in the selection, from its index in the table's columns, and back. */
export const numberOf = (table: HeadTable, at: number) => table.layers[Math.floor(at / table.heads)] * table.heads + (at % table.heads);
export const placeOf = (table: HeadTable, layer: number, head: number) => table.layers.indexOf(layer) * table.heads + head;
export const headOf = (table: HeadTable, at: number): [number, number] => [table.layers[Math.floor(at / table.heads)], at % table.heads];
