/** The live notebook widget (anywidget): state travels both ways, layers are fetched as needed. */
import { openContainer } from "../protocol/container";
import type { Kind, Mounted, WidgetReply, WidgetRequest } from "../protocol/types";
import { mount, showError } from "./mount";

/** The part of anywidget's model that is used. */
interface WidgetModel {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(name: string, listener: (...args: never[]) => void): void;
  off(name: string, listener: (...args: never[]) => void): void;
  send(message: unknown): void;
}

const patience = 120_000;

function render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
  let mounted: Mounted | null = null;
  let lastId = 0;
  const waiting = new Map<number, { resolve(bytes: Uint8Array): void; reject(error: Error): void }>();

  const onMessage = (message: WidgetReply, buffers: (DataView | ArrayBuffer)[]) => {
    const asked = waiting.get(message?.id);
    if (!asked) return;
    waiting.delete(message.id);
    if (message.type === "error") return asked.reject(new Error(message.message));
    const buffer = buffers[0];
    asked.resolve(buffer instanceof ArrayBuffer ? new Uint8Array(buffer) : new Uint8Array(buffer.buffer as ArrayBuffer, buffer.byteOffset, buffer.byteLength));
  };
  const fetchLayer = (kind: Kind, layer: number, head: number): Promise<Uint8Array> =>
    new Promise((resolve, reject) => {
      const request: WidgetRequest = { type: "layer", id: ++lastId, kind, layer, head };
      waiting.set(request.id, { resolve, reject });
      model.send(request);
      setTimeout(() => {
        if (waiting.delete(request.id)) reject(new Error("The notebook's kernel did not send this layer: is it still running?"));
      }, patience);
    });
  const onState = () => mounted?.set((model.get("state") ?? {}));
  const open = () => {
    mounted?.unmount();
    try {
      const source = openContainer(model.get("container") as DataView);
      source.fetchLayer = fetchLayer;
      mounted = mount(el, source, {
        onState: (state) => {
          model.set("state", { ...state });
          model.save_changes();
        },
      });
      onState();
      model.set("state", { ...mounted.state });
      model.save_changes();
    } catch (error) {
      showError(el, error);
    }
  };
  model.on("msg:custom", onMessage);
  model.on("change:state", onState);
  model.on("change:container", open);
  open();
  return () => {
    model.off("msg:custom", onMessage);
    model.off("change:state", onState);
    model.off("change:container", open);
    mounted?.unmount();
  };
}

export default { render };
