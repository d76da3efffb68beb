import { headsOn } from "../../state/state";
import type { ViewDefinition } from "../view";
import { ofText } from "./state";
import { TextView } from "./text";
import style from "./text.css";

const definition: ViewDefinition = {
  name: "text",
  title: "text",
  place: 5,
  controls: ["layer", "weighting", "filter", "specials", "first", "unit", "scale", "direction"],
  choices: [
    { name: "side", title: "selected words", entries: [["query", "attend to"], ["key", "are attended to by"]] },
    { name: "combine", title: "several words", entries: [["mean", "averaged"], ["sum", "summed"]], when: (_, state) => ofText(state).also.length > 0 },
    {
      name: "merge",
      title: "several heads",
      entries: [["mean", "averaged"], ["strongest", "strongest a word"]],
      when: (reading, state) => headsOn(state, reading.part(state.kind)).length > 1,
    },
  ],
  keeps: { also: [] },
  style,
  chips: "many",
  missing: (reading) => (reading.parts.length ? null : "A text view needs the attention of a reading, and this file holds none."),
  create: (context) => new TextView(context),
};
export default definition;
