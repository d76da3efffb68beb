import { planeChoices, planeKeeps } from "../head_scatter/state";
import type { ViewDefinition } from "../../../views/view";
import { AtlasView } from "./atlas";
import style from "./atlas.css";

const definition: ViewDefinition = {
  name: "atlas",
  title: "atlas",
  place: 9,
  controls: [],
  choices: planeChoices,
  keeps: planeKeeps,
  style,
  chips: "none",
  missing: ({ header }) => (header.atlas ? null : "hs.atlas(scope, corpus) makes an atlas of every head."),
  create: (context) => new AtlasView(context),
};
export default definition;
