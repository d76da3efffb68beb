import type { ViewDefinition } from "../../../views/view";
import { SoundView } from "./sound";
import style from "../image/image.css";
import own from "./sound.css";

const definition: ViewDefinition = {
  name: "sound",
  title: "sound",
  place: 6.5,
  controls: ["layer"],
  choices: [
    { name: "side", title: "selected", entries: [["query", "attends to"], ["key", "is attended to by"]] },
    { name: "opacity", title: "opacity", entries: [["0.8", "80 %"], ["0.5", "50 %"], ["1", "100 %"]] },
  ],
  keeps: { also: [] },
  style: style + own,
  chips: "many",
  missing: (reading) => (reading.header.sound ? null : "This reading has no sound; scope.read(audio=…) makes one that has."),
  create: (context) => new SoundView(context),
};
export default definition;
