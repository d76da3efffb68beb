import type { ViewDefinition } from "../view";
import { HeadMapView } from "./headmap";
import style from "./headmap.css";

const definition: ViewDefinition = {
  name: "headmap",
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
