/** A reading from the server; its layers are fetched when shown. */
import { openContainer } from "../../../protocol/container";
import type { AppHeader, MediaRequest, ReadRequest } from "../../../protocol/app";
import type { Kind, Source } from "../../../protocol/types";
import { ApiError, engine, getBytes, postBytes } from "./api";

/** `gone` is called if the server has dropped the reading, or was restarted. */
export async function sourceOf(asked: ReadRequest, media: MediaRequest | null, gone: (id: string) => void, signal: AbortSignal): Promise<Source> {
  const source = openContainer(await (media ? postBytes("api/media", { ...asked, ...media }, signal) : postBytes("api/read", asked, signal)));
  const { id } = source.header as AppHeader;
  source.fetchLayer = async (kind: Kind, layer: number, head: number) => {
    try {
      return await getBytes(`api/reading/${encodeURIComponent(id)}/layer/${kind}/${layer}?head=${head}`);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) gone(id);
      throw error;
    }
  };
  // What needs gradients is beyond a model that runs in the page.
  if (!media && !engine) {
    source.fetchPrediction = (answer) => postBytes("api/attribute", { id, ...answer });
    source.fetchWeighting = (by, target) => postBytes("api/weigh", { id, by, target });
  }
  return source;
}
