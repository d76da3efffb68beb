import type { ViewDefinition } from "../view";
import { NeuronView } from "./neuron";
import style from "./neuron.css";

const definition: ViewDefinition = {
  name: "neuron",
  title: "neuron",
  place: 2,
  controls: ["layer", "head", "sort", "wrap"],
  alwaysOffered: true,
  style,
  chips: "none",
  missing: (reading) => (reading.parts.length ? null : "This file holds measurements of heads, and no reading to draw."),
  create: (context) => new NeuronView(context),
};
export default definition;
