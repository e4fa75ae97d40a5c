// @ts-check
// npm run check:words: finds words that this repository does not use (tools/words.mjs) in Markdown, in comments and in string
// literals with more than one word. With paths, it checks only those, also when they are listed as not clean yet.
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { runAsTool } from './run-as-tool.mjs';
import { EXCEPTIONS, NOT_CLEAN_YET, WORDS } from './words.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SKIPPED_NAMES = new Set(['node_modules', 'dist', 'coverage', 'data', '.git', 'generated.ts']);
/** Generated pages, and the files that have the words as data. */
const SKIPPED_PATHS = new Set([
  ...['docs/api', 'libs/console/src/assets', 'site/pages'],
  ...['tools/words.mjs', 'tools/check-words.spec.ts'],
]);
const CODE = new Set(['.ts', '.mjs', '.js', '.cjs']);

/**
 * A piece of prose that begins at position `start` of the file. In `text`, everything that is not prose is replaced by spaces.
 * @typedef {{ start: number, text: string, doc: boolean }} Prose
 * @typedef {{ line: number, word: string, write: string }} Finding
 */

/** Replaces everything but line breaks by spaces, so that positions stay. @param {string} text */
const blank = (text) => text.replaceAll(/[^\n]/g, ' ');

/** Replaces code, addresses and parameter names inside prose by spaces. @param {string} text */
const withoutCode = (text) =>
  text
    .replaceAll(/`[^`\n]*(?:\n[^`\n]+)?`/g, blank)
    .replaceAll(/\b[a-z]+:\/\/\S+/g, blank)
    .replaceAll(/\{@\w+ [^}]*\}/g, blank)
    .replaceAll(/@(?:param|typeParam|template)\s+(?:\{[^}]*\}\s*)?[\w.[\]]+/g, blank);

/** Replaces the marks of a comment by spaces, so that a phrase is found across lines. @param {string} text */
const withoutMarks = (text) =>
  text.replaceAll(/^\s*(?:\/\/|--)|^\s*\*(?!\/)/gm, blank).replaceAll(/^\/\*+|\*\/$|^--\[\[|\]\]$/g, blank);

/**
 * Returns the comments, and the sentences in string literals, of TypeScript or JavaScript.
 * @param {string} code
 * @param {number} [offset]
 * @returns {Prose[]}
 */
function proseOfCode(code, offset = 0) {
  const file = ts.createSourceFile('code.ts', code, ts.ScriptTarget.Latest, true);
  /** @type {Map<number, Prose>} */
  const found = new Map();
  /** Line comments that follow each other are one text. @param {ts.CommentRange[] | undefined} comments */
  const addComments = (comments = []) => {
    /** @type {{ pos: number, end: number, lines: boolean }[]} */
    const texts = [];
    for (const { pos, end, kind } of comments) {
      const lines = kind === ts.SyntaxKind.SingleLineCommentTrivia;
      const last = texts.at(-1);
      if (lines && last?.lines) last.end = end;
      else texts.push({ pos, end, lines });
    }
    for (const { pos, end } of texts) {
      const text = code.slice(pos, end);
      found.set(pos, { start: offset + pos, text: withoutCode(withoutMarks(text)), doc: text.startsWith('/**') });
    }
  };
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (node.kind >= ts.SyntaxKind.FirstJSDocNode && node.kind <= ts.SyntaxKind.LastJSDocNode) return;
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
      const start = node.getStart(file);
      const text = code.slice(start, node.end);
      if (/\S\s+\S/.test(text))
        found.set(start, { start: offset + start, text: withoutCode(unquoted(text)), doc: false });
    }
    addComments(ts.getLeadingCommentRanges(code, node.pos));
    addComments(ts.getTrailingCommentRanges(code, node.end));
    for (const child of node.getChildren(file)) visit(child);
  };
  visit(file);
  return [...found.values()];
}

/** Replaces the quotes of a literal by spaces. Backquotes would be taken for those around code. @param {string} text */
const unquoted = (text) => text.replaceAll(/^[`'"}]|(?:[`'"]|\$\{)$/g, blank).replaceAll('\\n', '  ');

/**
 * Returns the comments, and the sentences in strings, of Lua.
 * @param {string} code
 * @returns {Prose[]}
 */
function proseOfLua(code) {
  const pieces = code.matchAll(/--\[\[[\s\S]*?\]\]|(?:^[ \t]*--.*\n?)+|--.*|'[^'\n]*\s[^'\n]*'|"[^"\n]*\s[^"\n]*"/gm);
  return [...pieces].map(({ 0: text, index }) => ({
    start: index,
    text: withoutCode(text.trimStart().startsWith('--') ? withoutMarks(text) : text),
    doc: false,
  }));
}

/**
 * Returns a Markdown page without its code, addresses and tags, and the prose of its TypeScript blocks.
 * @param {string} page
 * @returns {Prose[]}
 */
function proseOfMarkdown(page) {
  const blocks = [...page.matchAll(/^```ts\n([\s\S]*?)^```/gm)];
  const text = withoutCode(page.replaceAll(/^```[\s\S]*?^```/gm, blank))
    .replaceAll(/\]\([^)\s]+\)/g, blank)
    .replaceAll(/<[^>\n]+>/g, (tag) => (/ alt=/.test(tag) ? tag : blank(tag)));
  return [
    { start: 0, text, doc: false },
    ...blocks.flatMap(({ index, 1: code = '' }) => proseOfCode(code, index + '```ts\n'.length)),
  ];
}

const RULES = WORDS.map(({ pattern, write, opens = false }) => {
  const words = `(?:${pattern.replaceAll(' ', '\\s+')})`;
  // Parts of a path, a file name or a compound are not matched.
  const source = opens ? `(?<=^\\s*)${words}(?!\\w)` : `(?<![\\w/.@#$-])${words}(?![\\w/-]|\\.\\w)`;
  return { write, opens, matches: new RegExp(source, opens ? 'g' : 'gi') };
});

/**
 * Finds the words of a file's prose that this repository does not use.
 * @param {string} path
 * @param {string} content
 * @returns {Finding[]}
 */
export function findWords(path, content) {
  const kind = extname(path);
  const pieces =
    kind === '.md' ? proseOfMarkdown(content) : kind === '.lua' ? proseOfLua(content) : proseOfCode(content);
  const allowed = EXCEPTIONS.filter(({ file }) => file === path);
  const findings = pieces.flatMap(({ start, text, doc }) =>
    RULES.filter(({ opens }) => doc || !opens).flatMap(({ matches, write }) =>
      [...text.matchAll(matches)].map(({ 0: word, index }) => ({ at: start + index, word, write })),
    ),
  );
  return findings
    .filter(({ at }) => !allowed.some(({ text }) => surrounds(content, text, at)))
    .sort((a, b) => a.at - b.at)
    .map(({ at, word, write }) => ({
      line: content.slice(0, at).split('\n').length,
      word: word.replaceAll(/\s+/g, ' ').trim(),
      write,
    }));
}

/**
 * Returns true if an occurrence of the text in the content contains the position.
 * @param {string} content
 * @param {string} text
 * @param {number} at
 */
function surrounds(content, text, at) {
  const first = content.lastIndexOf(text, at);
  return first !== -1 && at < first + text.length;
}

/**
 * Returns the files with prose below a path of the repository.
 * @param {string} path
 * @returns {string[]}
 */
function filesBelow(path) {
  if (SKIPPED_PATHS.has(path)) return [];
  const absolute = join(ROOT, path);
  if (!statSync(absolute).isDirectory()) return CODE.has(extname(path)) || /\.(md|lua)$/.test(path) ? [path] : [];
  return readdirSync(absolute, { withFileTypes: true })
    .filter((entry) => !SKIPPED_NAMES.has(entry.name) && !entry.isSymbolicLink())
    .flatMap((entry) => filesBelow(join(path, entry.name)));
}

/** @param {string} file @param {string} folder */
const isBelow = (file, folder) => file === folder || file.startsWith(`${folder}/`);

/** @param {string[]} paths */
function main(paths) {
  const asked = paths.map((path) => relative(ROOT, realpathSync(path)) || '.');
  const unclean = asked.length > 0 ? [] : NOT_CLEAN_YET;
  const needed = new Set();
  let found = 0;
  for (const file of (asked.length > 0 ? asked : ['.']).flatMap(filesBelow)) {
    const findings = findWords(file, readFileSync(join(ROOT, file), 'utf8'));
    const folder = unclean.find((one) => isBelow(file, one));
    if (folder !== undefined) {
      if (findings.length > 0) needed.add(folder);
      continue;
    }
    found += findings.length;
    for (const { line, word, write } of findings) console.error(`${file}:${line}  ${word}  ->  ${write}`);
  }
  const spare = unclean.filter((folder) => !needed.has(folder));
  for (const folder of spare) console.error(`${folder} is clean now: remove it from NOT_CLEAN_YET in tools/words.mjs.`);
  if (found > 0) console.error(`${found} words to replace. The list is in tools/words.mjs.`);
  return found + spare.length > 0 ? 1 : 0;
}

runAsTool(import.meta.url, main);
