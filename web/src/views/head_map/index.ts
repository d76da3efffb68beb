import type { ViewDefinition } from "../view";
import { HeadMapView } from "./head_map";
import style from "./head_map.css";

const definition: ViewDefinition = {
  name: "head_map",
  title: "head map",
  place: 4,
  controls: ["column"],
  overview: true,
  style,
  chips: "none",
  missing: (reading) => (reading.table?.columns.length ? null : "No patterns or statistics were measured for these heads."),
  create: (context) => new HeadMapView(context),
};
export default definition;
