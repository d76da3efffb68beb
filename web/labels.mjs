/** Every text that the pages show, by file, as JSON: `node labels.mjs [folder]`. Values stand in braces. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const root = process.argv[2] ?? join(import.meta.dirname, "src");
// what hold names, selectors, styles and drawings, and what hold nothing but texts
const code = /^(?:class(?:Name)?|style|transform|colorScheme|viewBox|href|src|font|cssText|data-.*|aria-(?:live|autocomplete|controls|haspopup))$/;
const calls = /^(?:querySelector(?:All)?|closest|matches|matchMedia|(?:add|remove)EventListener|setProperty|getPropertyValue|createElement(?:NS)?|mark|replaceAll|css|ramp)$/;
const texts = /^(?:title|label|alt|placeholder|textContent|hint|says|aria-(?:label|description|roledescription|valuetext))$/;
const style = /^[a-z-]+: ?[^ ]+;|\b(?:var|rgba?|translate|rotate|scale|repeat|minmax|inset)\(|\d(?:px|fr|em|ms)\b|^[[&]|^api\/|^\w+ = |^\w+=|^headscope \w|^import /;
const inline = /^(?:a|b|code|em|i|kbd|span|strong|[A-Z]\w*)$/;

const clean = (text) => text.replace(/\s+/g, " ").trim();
const braced = (node) => `{${clean(node.getText())}}`;

/** What a literal, or an element with its inline parts, says in one line. */
function written(node) {
  if (ts.isStringLiteralLike(node)) return clean(node.text);
  if (ts.isTemplateExpression(node)) return clean(node.head.text + node.templateSpans.map((span) => braced(span.expression) + span.literal.text).join(""));
  return (ts.isJsxElement(node) || ts.isJsxFragment(node)) && node.children.some((child) => ts.isJsxText(child) && clean(child.text)) ? clean(sentence(node)) : null;
}

function sentence(node) {
  return node.children.map((child) => {
    if (ts.isJsxText(child)) return child.text.replace(/\s*\n\s*/g, "");
    if (ts.isJsxExpression(child) && /<\w/.test(child.getText())) return " ";
    if (ts.isJsxExpression(child)) return child.expression ? (ts.isStringLiteral(child.expression) ? child.expression.text : braced(child.expression)) : "";
    return ts.isJsxElement(child) && inline.test(child.openingElement.tagName.getText()) ? sentence(child) : " ";
  }).join("");
}

/** Whether a literal is shown, by what it stands in. */
function isShown(node, text) {
  const words = text.replace(/\{[^}]*\}*/g, "·");
  if (!/\p{L}{2}/u.test(words) || style.test(text)) return false;
  if (!ts.isStringLiteralLike(node) && !ts.isTemplateExpression(node)) return true;
  const several = /\p{L}{2}\S* .*[\p{L}·]/u.test(words) || /^· .*\p{L}{2}/u.test(words);
  for (let at = node, above = node.parent; above && !ts.isStatement(at); [at, above] = [above, above.parent]) {
    if (ts.isImportDeclaration(above) || ts.isExportDeclaration(above) || ts.isLiteralTypeNode(above) || ts.isCaseClause(above)) return false;
    if (ts.isElementAccessExpression(above) && above.argumentExpression === at) return false;
    // a choice of a menu: its value, then what it is called
    if (ts.isArrayLiteralExpression(above) && ts.isArrayLiteralExpression(above.parent) && above.elements.length === 2 && above.elements.every(ts.isStringLiteralLike)) return above.elements[1] === at;
    if (ts.isConditionalExpression(above) && above.condition === at) return false;
    if (ts.isBinaryExpression(above) && /^[!=]==$|^in$/.test(above.operatorToken.getText())) return false;
    if (ts.isJsxElement(above) || ts.isJsxFragment(above)) return true;
    const name = nameOf(above, at);
    if (name && code.test(name)) return false;
    if (name && texts.test(name)) return true;
    if (ts.isJsxAttribute(above)) return several;
    if (ts.isCallExpression(above) || ts.isNewExpression(above)) {
      const callee = above.expression.getText().split(".").pop();
      if (calls.test(callee) && !ts.isFunctionLike(at)) return false;
      const index = (above.arguments ?? []).indexOf(at);
      if (callee === "setAttribute") return index === 1 && texts.test(above.arguments[0].text ?? "");
      if (callee === "make" || callee === "svg") return index > 1;
    }
  }
  return several;
}

function nameOf(node, value) {
  if (ts.isPropertyAssignment(node)) return node.name === value ? "data-key" : node.name.getText().replace(/"/g, "");
  if (ts.isJsxAttribute(node) || ts.isVariableDeclaration(node)) return node.name.getText();
  return ts.isBinaryExpression(node) && node.right === value && node.operatorToken.getText() === "=" ? node.left.getText().split(".").pop() : null;
}

function labels(path) {
  const found = new Set();
  const visit = (node) => {
    const text = written(node);
    if (text && isShown(node, text)) found.add(text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true));
  return [...found];
}

const files = readdirSync(root, { recursive: true }).map(String).filter((name) => /\.tsx?$/.test(name)).sort();
console.log(JSON.stringify(Object.fromEntries(files.map((name) => [name.replaceAll("\\", "/"), labels(join(root, name))]))));
