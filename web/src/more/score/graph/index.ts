import type { ViewDefinition } from "../../../views/view";
import { GraphView } from "./graph";
import style from "./graph.css";

const definition: ViewDefinition = {
  name: "graph",
  title: "graph",
  place: 12,
  controls: [],
  keeps: {},
  style,
  chips: "none",
  missing: ({ header }) => (header.graph ? null : "hs.circuits.trace(scope, text) follows a prediction; hs.circuits.edges finds a circuit."),
  create: (context) => new GraphView(context),
};
export default definition;
