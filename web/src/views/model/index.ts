import type { ViewDefinition } from "../view";
import { ModelView } from "./model";
import style from "./model.css";

const definition: ViewDefinition = {
  name: "model",
  title: "model",
  place: 1,
  controls: ["thumbnails", "order", "find"],
  overview: true,
  style,
  chips: "none",
  missing: (reading) => (reading.parts.length ? null : "This file holds measurements of heads, and no text that a model read."),
  create: (context) => new ModelView(context),
};
export default definition;
