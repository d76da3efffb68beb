/** What scripts that are loaded later take from the first screen's: through one module, so that the bundler cuts the app in two and not in ten. */
export { useInstrument } from "../../instrument/chrome";
export { takeIn } from "../../instrument/definitions";
export { LegendMark } from "../../instrument/legend";
export { openContainer } from "../../protocol/container";
export { copyText, sentenceOf, visible } from "../../render/dom";
export { sequential } from "../../render/scales";
export { Reading } from "../../protocol/reading";
export { readPart } from "./place";
export { opening } from "../../state/state";
export { fromQuery, toQuery } from "../../state/url";
export { cellAt, headGrid, markOpen } from "../../views/head_map/grid";
export { mountInto } from "../mount";
export { openText } from "./atlas";
export { tourOf } from "../../state/tour";
export { keepTour, linkOf, tourText } from "./saved";
export { engine, getBytes, postFile } from "./server/api";
export { allOn, anotherText } from "./placed";
export { Terms } from "./terms";
