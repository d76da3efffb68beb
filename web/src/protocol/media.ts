/** What a header says of pictures, sounds, and where positions lie in them. */
export interface BufferReference {
  buffer: string;
}

export interface PlacesHeader {
  kinds: BufferReference;
  rectangles: BufferReference;
  seconds: BufferReference;
  pictures: BufferReference;
}

export interface PictureHeader extends BufferReference {
  name: string;
  width: number;
  height: number;
}

export interface SoundHeader extends BufferReference {
  name: string;
  seconds: number;
  rate: number;
  /** The transcript, each word where dynamic time warping puts it. */
  words: { text: string; tokens: [number, number]; start: number; end: number }[];
}

/** What was read beside, or instead of, a text. */
export interface MediaHeader {
  pictures?: PictureHeader[];
  sound?: SoundHeader;
}

export interface PlacedTokens {
  /** Where positions lie in a picture or a sound; absent: they are words. */
  places?: PlacesHeader;
}
