import type { ViewDefinition } from "../view";
import { HeadView } from "./head";
import style from "./head.css";

const definition: ViewDefinition = {
  name: "head",
  title: "head",
  place: 0,
  controls: ["layer", "weighting", "filter", "specials", "first", "unit", "minimum", "scale", "orientation", "direction"],
  style,
  chips: "many",
  missing: (reading) => (reading.parts.length ? null : "This file holds measurements of heads, and no text that a model read."),
  create: (context) => new HeadView(context),
};
export default definition;
