import type { ViewDefinition } from "../view";
import { PredictionView } from "./prediction";
import style from "./prediction.css";

const definition: ViewDefinition = {
  name: "prediction",
  title: "prediction",
  place: 7,
  controls: [],
  keeps: { target: "", rather: "", token: "" },
  style,
  chips: "none",
  missing: (reading) =>
    reading.canPredict ? null : "This file holds no prediction: hs.prediction_view(hs.attribute(scope, text)) shows which heads made one.",
  create: (context) => new PredictionView(context),
};
export default definition;
