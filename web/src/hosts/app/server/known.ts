/** The models there are, and what the one at hand takes. */
import type { Example, MediaRequest, ModelEntry, ModelsReply } from "../../../protocol/app";
import { getJson } from "./api";

export class Known {
  models: ModelsReply | null = null;
  model = "";
  private asked = 0;

  /** Those that make sense for the model at hand. */
  examples(): Example[] {
    return (this.entry?.examples ?? []).map((number) => this.models!.examples[number]);
  }

  private get entry(): ModelEntry | undefined {
    return this.models?.models.find((each) => each.id === this.model);
  }

  /** What the model takes beside or instead of a text. */
  get senses(): "image" | "audio" | null {
    return this.entry?.sees ? "image" : this.entry?.hears ? "audio" : null;
  }

  /** What a text beside a picture or a sound is; null where the model takes none. */
  get about(): string | null {
    return this.entry?.reads ? "A text about it (optional)" : this.entry?.encoder_decoder ? "Its transcript (optional)" : null;
  }

  mediaExamples(): MediaRequest[] {
    const fitting = (this.models?.media_examples ?? []).filter((each) => each.kind === this.senses);
    return fitting.map(({ name }) => ({ media: "example", name }));
  }

  /** Whether the model at hand takes it: one that hears sees no picture. */
  protected isTaken(media: MediaRequest | null): boolean {
    const example = this.mediaExamples().some((each) => each.name === media?.name);
    return media?.media === "example" ? example : media?.media === this.senses;
  }

  titleOf(model: string): string {
    return this.models?.models.find((each) => each.id === model)?.title ?? model;
  }

  /** Little is known of a model before it is opened: afterwards its examples and abilities are. */
  protected async learn(): Promise<void> {
    if (!this.entry || Object.keys(this.entry.layers).length) return;
    const asked = ++this.asked;
    const found = await getJson<ModelsReply>("api/models");
    if (asked !== this.asked) return;
    // An atlas may have been opened while this was asked.
    this.models = { ...found, atlas: found.atlas ?? this.models?.atlas };
  }
}
