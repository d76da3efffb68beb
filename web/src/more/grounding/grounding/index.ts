import type { ViewDefinition } from "../../../views/view";
import { GroundingView } from "./grounding";
import style from "./grounding.css";

const definition: ViewDefinition = {
  name: "grounding",
  title: "grounding",
  place: 10,
  controls: [],
  keeps: { method: "", sentence: "" },
  style,
  chips: "none",
  missing: ({ header }) => (header.grounding ? null : "hs.ground(scope, messages, documents) measures what an answer took from where."),
  create: (context) => new GroundingView(context),
};
export default definition;
