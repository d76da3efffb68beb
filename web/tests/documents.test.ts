import { expect, test } from "vitest";
import { documentsIn } from "../src/hosts/app/later/documents";

test("text files are one document each, and lines of .jsonl one each", () => {
  expect(documentsIn("a.md", "# x")).toEqual([{ title: "a.md", text: "# x" }]);
  const lines = '{"title": "t", "text": "one"}\n\n"two"\n{"content": "three"}\n';
  expect(documentsIn("b.jsonl", lines)).toEqual([
    { title: "t", text: "one" },
    { title: "b.jsonl 3", text: "two" },
    { title: "b.jsonl 4", text: "three" },
  ]);
});

test("lines with a role are messages", () => {
  const lines = '{"role": "user", "content": "who?"}\n{"role": "assistant", "text": "me"}\n{"text": "one"}';
  expect(documentsIn("c.jsonl", lines)).toEqual([
    { role: "user", text: "who?" },
    { role: "assistant", text: "me" },
    { title: "c.jsonl 3", text: "one" },
  ]);
  expect(documentsIn("c.jsonl", '{"role": "king", "content": "x"}')).toContain("Line 1 of c.jsonl is neither");
});

test("a file that is not a document gives a sentence", () => {
  expect(documentsIn("a.pdf", "x")).toContain("not a .txt, .md or .jsonl");
  expect(documentsIn("a.txt", " ")).toBe("a.txt is empty.");
  expect(documentsIn("b.jsonl", '{"text": "one"}\n{"text": 3}')).toContain("Line 2 of b.jsonl");
  expect(documentsIn("b.jsonl", "null")).toContain("Line 1");
  expect(documentsIn("b.jsonl", "")).toBe("b.jsonl is empty.");
});
