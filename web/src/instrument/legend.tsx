/** Never a colour without its scale. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { fit } from "../render/dom";
import { thickness } from "../render/lines";
import { css } from "../render/oklch";
import type { Shade } from "../render/palette";
import type { Legend } from "../views/view";

export function LegendMark({ legend, shade }: { legend: Legend; shade: Shade }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    if (!canvas.current) return;
    const context = fit(canvas.current, 96, 10);
    context.clearRect(0, 0, 96, 10);
    if (legend.kind === "ramp" && legend.ramp) {
      legend.ramp.forEach((rgb, i) => {
        context.fillStyle = css(rgb);
        context.fillRect((i * 96) / 256, 0, 96 / 256 + 0.6, 10);
      });
      context.strokeStyle = shade === "dark" ? "#444a53" : "#c9ced6";
      context.strokeRect(0.5, 0.5, 95, 9);
      return;
    }
    [0.1, 0.25, 0.5, 1].forEach((weight, i) => {
      const s = legend.title.includes("√") ? Math.sqrt(weight) : weight;
      context.globalAlpha = s;
      context.fillStyle = shade === "dark" ? "#edeef0" : "#14171c";
      context.fillRect(i * 25, 5 - thickness(s) / 2, 20, thickness(s));
    });
    context.globalAlpha = 1;
  });
  return (
    <span class="legend">
      <span>{legend.title}</span>
      <span>{legend.low}</span>
      <canvas ref={canvas} aria-hidden="true" />
      <span>{legend.high}</span>
    </span>
  );
}
