import type { ViewDefinition } from "../view";
import { MatrixView } from "./matrix";
import style from "./matrix.css";

const definition: ViewDefinition = {
  name: "matrix",
  title: "matrix",
  place: 3,
  controls: ["layer", "weighting", "reading", "specials", "first", "unit", "scale"],
  style,
  chips: "one",
  missing: (reading) => (reading.parts.length ? null : "This file holds measurements of heads, and no text that a model read."),
  create: (context) => new MatrixView(context),
};
export default definition;
