/** A part of the app that few visits show: its script is loaded when it is first drawn. */
import { createElement } from "preact";
import type { FunctionComponent, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

export function later<Props extends object>(load: () => Promise<FunctionComponent<Props>>) {
  let loaded: FunctionComponent<Props> | null = null;
  return function Later(props: Props): JSX.Element | null {
    const [, again] = useState(false);
    useEffect(() => {
      if (!loaded) void load().then((found) => again(!!(loaded = found)));
    }, []);
    return loaded && createElement(loaded, props);
  };
}
