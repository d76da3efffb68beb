import type { ViewDefinition } from "../view";
import { NeuronView } from "./neuron";
import style from "./neuron.css";

const definition: ViewDefinition = {
  name: "neuron",
  title: "neuron",
  place: 2,
  controls: ["layer", "head", "sort", "wrap"],
  choices: [
    {
      name: "shows",
      title: "step",
      entries: [["scores", "q·k to weights"], ["values", "weights × values"]],
      when: (reading, state) => reading.header.parts.some((part) => part.kind === state.kind && part.per_layer.some((layer) => layer.v || layer.pieces?.some((piece) => piece.v))),
    },
  ],
  alwaysOffered: true,
  style,
  chips: "none",
  missing: (reading) => (reading.parts.length ? null : "This file holds measurements of heads, and no text that a model read."),
  create: (context) => new NeuronView(context),
};
export default definition;
