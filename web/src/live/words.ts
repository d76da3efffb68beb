/** Words of a text as the Python side counts them (text/words.py): for any script, without any tokenizer. */

/** Python's blanks: JavaScript's lack some control characters, and have the mark of byte order. */
const space = /[^\S\ufeff]|[\x1c-\x1f\x85]/u;
const mark = /[\p{M}\p{Cf}\p{Sk}]/u;
const letter = /[\p{L}\p{N}_]/u;
const alphabetic = /\p{L}/u;
const ideographs: [number, number][] = [[0x3400, 0x9fff], [0xf900, 0xfaff], [0x20000, 0x3ffff], [0x3040, 0x30ff]];
const joiner = "\u200d";

/** Characters (code points) of the text, and where each word ends: one past its last character. */
export class Words {
  readonly ends: number[] = [];
  private readonly blank: boolean[];

  constructor(readonly characters: string[]) {
    this.blank = characters.map((each) => space.test(each));
    const begins = this.begins();
    for (let at = 1; at <= characters.length; at++) {
      if (!this.blank[at - 1] && (at === characters.length || this.blank[at] || begins[at])) this.ends.push(at);
    }
  }

  private begins(): boolean[] {
    const { characters, blank } = this;
    const marks = characters.map((each, at) => !blank[at] && mark.test(each));
    const letters = characters.map((each, at) => !blank[at] && !marks[at] && holdsTogether(each, characters[at - 1], characters[at + 1]));
    let holder = 0;
    return characters.map((_, at) => {
      if (blank[at]) return false;
      if (at === 0) return true;
      // Marks are looked through to what they change, though not beyond the text's first character.
      if (!marks[at - 1]) holder = at - 1;
      if (blank[at - 1]) return true;
      const goesOn = (letters[at] && (letters[holder] || marks[holder])) || marks[at] || characters[at - 1] === joiner;
      return !goesOn;
    });
  }

  /** The word in which a character lies, counted from 0; among blanks the word after them, or the last. */
  at(character: number): number {
    let low = 0;
    let high = this.ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ends[middle] <= character) low = middle + 1;
      else high = middle;
    }
    return Math.min(low, this.ends.length - 1);
  }

  /** A token's span without the blanks it begins with. */
  trimmed(start: number, end: number): number {
    while (start < end - 1 && this.blank[start]) start++;
    return start;
  }
}

function holdsTogether(each: string, before: string | undefined, after: string | undefined): boolean {
  if (each === "'" || each === "’") return alphabetic.test(before ?? "") && alphabetic.test(after ?? "");
  const point = each.codePointAt(0)!;
  return letter.test(each) && !ideographs.some(([low, high]) => low <= point && point <= high);
}
