import type { Part } from "../../../protocol/types";
import type { ViewDefinition } from "../../../views/view";
import { ImageView } from "./image";
import style from "./image.css";

const hasPlaces = (part: Part) => Boolean((part.key ?? part.query).places);

const definition: ViewDefinition = {
  name: "image",
  title: "image",
  place: 6,
  controls: ["layer"],
  choices: [
    { name: "side", title: "selected", entries: [["query", "attends to"], ["key", "is attended to by"]] },
    { name: "smoothing", title: "between patches", entries: [["nearest", "sharp"], ["smooth", "smoothed"]] },
    { name: "opacity", title: "opacity", entries: [["0.8", "80 %"], ["0.5", "50 %"], ["1", "100 %"]] },
  ],
  keeps: { also: [] },
  style,
  chips: "many",
  missing: (reading) =>
    reading.header.pictures?.length && reading.parts.some(hasPlaces) ? null : "This reading has no picture; scope.read(image=…) makes one that has.",
  create: (context) => new ImageView(context),
};
export default definition;
