import type { ViewDefinition } from "../../../views/view";
import { ScatterView } from "./scatter";
import { planeChoices, planeKeeps } from "./state";
import style from "./scatter.css";

const definition: ViewDefinition = {
  name: "head_scatter",
  title: "scatter",
  place: 8,
  controls: [],
  choices: planeChoices,
  keeps: planeKeeps,
  style,
  chips: "none",
  // A reading is shown as points only on request: its own views show more.
  missing: ({ table, header }) => (table?.columns.length && header.view === "head_scatter" ? null : "hs.head_scatter(survey) shows every head as a point."),
  create: (context) => new ScatterView(context),
};
export default definition;
