import type { ViewDefinition } from "../../../views/view";
import { ScoreView } from "./score";
import style from "./score.css";

const definition: ViewDefinition = {
  name: "score",
  title: "score",
  place: 11,
  controls: [],
  keeps: {},
  style,
  chips: "none",
  missing: ({ header }) => (header.score ? null : "hs.circuits.score(scope, text, layer, head, query, key) decomposes a score by what wrote it."),
  create: (context) => new ScoreView(context),
};
export default definition;
